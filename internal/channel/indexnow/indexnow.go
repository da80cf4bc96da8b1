// Package indexnow tells search engines that a page is new. https://www.indexnow.org/documentation
//
// There is nothing to read back: the best there is, is that the ping was accepted. Repeating one is
// harmless, so a ping whose answer was lost is sent again.
package indexnow

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"colophon/internal/channel"
	"colophon/publish"
)

// Options configure the channel.
type Options struct {
	Name        string
	Endpoint    string // of one search engine; it tells the others
	Key         string // which the site shows at KeyLocation
	KeyLocation string
}

// Channel is the channel.
type Channel struct {
	client  *http.Client
	options Options
}

// New makes the channel; nothing is sent.
func New(client *http.Client, o Options) *Channel { return &Channel{client, o} }

// Policy declares the channel.
func (*Channel) Policy() channel.Policy {
	return channel.Policy{Tier: channel.Blind, Repeat: channel.AtLeastOnce}
}

// Prepare fixes what will be sent.
func (c *Channel) Prepare(_ context.Context, a publish.Announcement) (publish.Effect, error) {
	u, err := url.Parse(a.URL)
	if err != nil || u.Host == "" {
		return nil, channel.Halt("bad_url", "mend the article's URL", "%q is no URL that can be announced", a.URL)
	}
	endpoint, err := url.Parse(c.options.Endpoint)
	if err != nil {
		return nil, channel.Halt("bad_endpoint", "mend the channel's endpoint", "%q is no URL", c.options.Endpoint)
	}
	body, err := json.Marshal(map[string]any{"host": u.Host, "key": c.options.Key, "keyLocation": c.options.KeyLocation, "urlList": []string{a.URL}})
	if err != nil {
		return nil, err
	}
	return ping{c, a, body, publish.Operation{
		What: "ping", Intent: a.Intent.Key, Destination: "indexnow:" + endpoint.Host + "/" + u.Host, ContentID: a.Intent.ContentID(),
		Revision: a.Intent.Revision, Channel: c.options.Name, Account: u.Host, Text: channel.Digest(a.URL),
	}}, nil
}

// ping is the announcement of one URL.
type ping struct {
	*Channel
	a    publish.Announcement
	body []byte
	op   publish.Operation
}

func (p ping) Operation() publish.Operation { return p.op }

func (ping) Traits() publish.Traits { return publish.Traits{Class: publish.Idempotent} }

// Find says absent: nothing can be seen, and a second ping does no harm.
func (ping) Find(context.Context, publish.Prior) (publish.Finding, error) {
	return publish.Finding{Presence: publish.Absent, Evidence: []publish.Evidence{{
		At: time.Now().UTC(), Look: "IndexNow", Saw: "pings cannot be read back; repeating one is harmless",
	}}}, nil
}

func (p ping) Apply(ctx context.Context, _ publish.Prior) (publish.Receipt, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.options.Endpoint, bytes.NewReader(p.body))
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
		return publish.Receipt{ID: "accepted", URL: p.a.URL, Status: resp.StatusCode}, nil
	case http.StatusAccepted:
		return publish.Receipt{ID: "accepted, key to be checked", URL: p.a.URL, Status: resp.StatusCode}, nil
	}
	// IndexNow's refusals are told by their status alone.
	t := channel.Refused("ping", resp.StatusCode, "", true, 0)
	switch resp.StatusCode {
	case http.StatusForbidden:
		t.Condition, t.Next = "key_refused", "see that the key's file is on the site, then decide retry"
	case http.StatusUnprocessableEntity:
		t.Condition, t.Next = "host_refused", "see that the article and the key's file are on one host, then decide retry"
	}
	return publish.Receipt{}, t
}
