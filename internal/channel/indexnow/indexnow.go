// Package indexnow tells search engines that a page is new. https://www.indexnow.org/documentation
//
// There is nothing to read back: the best there is, is that the ping was accepted. Repeating one is
// harmless, so a ping whose answer was lost is sent again.
package indexnow

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"colophon/internal/channel"
	"colophon/publish"
)

// Options configure the channel.
type Options struct {
	channel.Options
	Endpoint    string // of one search engine; it tells the others
	Key         string // which the site shows, to anybody, at KeyLocation
	KeyLocation string
}

// Channel is the channel.
type Channel struct {
	client       *http.Client
	options      Options
	engine, site string // hosts
}

// New makes the channel; nothing is sent.
func New(client *http.Client, o Options) (*Channel, error) {
	endpoint, err := url.Parse(o.Endpoint)
	if err != nil || endpoint.Host == "" {
		return nil, fmt.Errorf("endpoint %q: want a URL, as https://api.indexnow.org/indexnow", o.Endpoint)
	}
	location, err := url.Parse(o.KeyLocation)
	if err != nil || location.Host == "" {
		return nil, fmt.Errorf("key_location %q: want the URL of the key's file on the site", o.KeyLocation)
	}
	return &Channel{client, o, endpoint.Host, location.Host}, nil
}

// Policy declares the channel.
func (c *Channel) Policy() channel.Policy {
	return c.options.Apply(channel.Policy{Tier: channel.Blind, Repeat: channel.AtLeastOnce, Updates: true})
}

// Account is the site that the key is for: nobody needs to be asked.
func (c *Channel) Account(context.Context) (string, error) { return c.destination(), nil }

func (c *Channel) destination() string { return "indexnow:" + c.engine + "/" + c.site }

// Backlog is empty: pings cannot be read back.
func (c *Channel) Backlog(context.Context) (publish.Backlog, error) {
	return publish.Backlog{Destination: c.destination(), Whole: true}, nil
}

// Compose fixes what will be sent, but for the key, which is no part of the message.
func (c *Channel) Compose(_ context.Context, a publish.Announcement) (publish.Message, error) {
	u, err := url.Parse(a.URL)
	if err != nil || u.Host != c.site {
		return publish.Message{}, channel.Halt("host_refused", "see that the article and the key's file are on one host", "%s is not on %s, which the key is for", a.URL, c.site)
	}
	return publish.Message{
		Operation: channel.Operation("ping", c.destination(), a, c.options.Name, a.URL), URL: a.URL, Text: a.URL, Made: a.Made,
	}, nil
}

// Effect is how a message is sent.
func (c *Channel) Effect(_ context.Context, m publish.Message) (publish.Effect, error) {
	m, err := c.options.Addressed(m, c.destination(), c.Policy())
	return ping{c, m}, err
}

// ping is the announcement of one URL.
type ping struct {
	*Channel
	m publish.Message
}

func (p ping) Operation() publish.Operation { return p.m.Operation }

func (ping) Traits() publish.Traits { return publish.Traits{Class: publish.Idempotent} }

// Find says absent: nothing can be seen, and a second ping does no harm.
func (ping) Find(context.Context, publish.Prior) (publish.Finding, error) {
	return publish.Finding{Presence: publish.Absent, Evidence: []publish.Evidence{{
		At: time.Now().UTC(), Look: "IndexNow", Saw: "pings cannot be read back; repeating one is harmless",
	}}}, nil
}

func (p ping) Apply(ctx context.Context, _ publish.Prior) (publish.Receipt, error) {
	body, err := json.Marshal(map[string]any{"host": p.site, "key": p.options.Key, "keyLocation": p.options.KeyLocation, "urlList": []string{p.m.URL}})
	if err != nil {
		return publish.Receipt{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.options.Endpoint, bytes.NewReader(body))
	if err != nil {
		return publish.Receipt{}, err
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	resp, err := p.client.Do(req)
	if err != nil {
		return publish.Receipt{}, err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
		return publish.Receipt{ID: "accepted", URL: p.m.URL, Status: resp.StatusCode}, nil
	case http.StatusAccepted:
		return publish.Receipt{ID: "accepted, key to be checked", URL: p.m.URL, Status: resp.StatusCode}, nil
	}
	// IndexNow's refusals are told by their status alone.
	t := channel.Refused("ping", resp.StatusCode, "", true, channel.RetryAfter(resp.Header, time.Now()))
	switch resp.StatusCode {
	case http.StatusForbidden:
		t.Condition, t.Next = "key_refused", "see that the key's file is on the site, then decide retry"
	case http.StatusUnprocessableEntity:
		t.Condition, t.Next = "host_refused", "see that the article and the key's file are on one host, then decide retry"
	}
	return publish.Receipt{}, t
}
