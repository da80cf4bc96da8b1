// Package x announces articles on an X account. https://docs.x.com/x-api/posts/create-post
//
// X knows no keys, and refuses a text that the account has posted lately, which may be our own post whose answer was
// lost. So after an unclear answer the account's own posts are read back.
package x

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"colophon/internal/channel"
	"colophon/publish"

	"github.com/dghubble/oauth1"
)

// Options configure the channel. Account is the user name that the token must belong to.
type Options struct {
	channel.Options
	Server string // https://api.x.com, without a slash at the end
	Keys   Keys
}

// Keys are an app's and a user's, of OAuth 1.0a (RFC 5849).
type Keys struct{ ConsumerKey, ConsumerSecret, AccessToken, AccessSecret string }

// Channel is the channel. Whose the token is, is asked once a day.
type Channel struct {
	client  *http.Client
	options Options
	daily   channel.Daily[identity]
}

type identity struct{ id, username string }

// New makes the channel over a client, and signs what it sends; nothing is sent.
func New(client *http.Client, o Options) (*Channel, error) {
	if o.Template == "" {
		o.Template = "{title}\n\n{url}"
	}
	o.Server = strings.TrimSuffix(o.Server, "/")
	if u, err := url.Parse(o.Server); err != nil || u.Host == "" {
		return nil, fmt.Errorf("server %q: want the API's URL, as https://api.x.com", o.Server)
	}
	base := context.WithValue(context.Background(), oauth1.HTTPClient, client)
	signing := oauth1.NewConfig(o.Keys.ConsumerKey, o.Keys.ConsumerSecret).Client(base, oauth1.NewToken(o.Keys.AccessToken, o.Keys.AccessSecret))
	signing.CheckRedirect = client.CheckRedirect
	return &Channel{client: signing, options: o}, channel.CheckTemplate(o.Template)
}

// Policy declares the channel. The gap and the cap keep to what a small account may do, and to what posts with links
// cost.
func (c *Channel) Policy() channel.Policy {
	return c.options.Apply(channel.Policy{
		Tier: channel.Searchable, Repeat: channel.AtMostOnce, Gap: 50 * time.Minute, DailyCap: 10,
		Settle: 10 * time.Second, Margin: 10 * time.Minute, Pages: 5,
	})
}

// Account asks whose the token is.
func (c *Channel) Account(ctx context.Context) (string, error) {
	me, err := c.daily.Get(ctx, c.identify)
	return c.destination(me), err
}

func (c *Channel) destination(me identity) string { return "x:" + c.host() + "/" + me.id }

func (c *Channel) host() string {
	_, host, _ := strings.Cut(c.options.Server, "://")
	return host
}

func (c *Channel) identify(ctx context.Context) (identity, error) {
	var got struct{ Data struct{ ID, Username string } }
	if err := c.get(ctx, "/2/users/me", &got); err != nil {
		return identity{}, err
	}
	me := identity{got.Data.ID, got.Data.Username}
	if want := strings.TrimPrefix(c.options.Account, "@"); me.id == "" || !strings.EqualFold(me.username, want) {
		return identity{}, channel.Halt("wrong_account", "give this channel the token of its own account", "the token belongs to @%s, the channel to @%s", me.username, want)
	}
	return me, nil
}

// Compose fixes the text and checks its length, as X weighs it, and its links.
func (c *Channel) Compose(ctx context.Context, a publish.Announcement) (publish.Message, error) {
	me, err := c.daily.Get(ctx, c.identify)
	if err != nil {
		return publish.Message{}, err
	}
	text := channel.Compose(c.options.Template, a)
	if n := weight(text); n > maxWeight {
		return publish.Message{}, channel.Halt("text_too_long", "shorten the title or the template", "the post weighs %d, X takes %d", n, maxWeight)
	}
	if err := channel.CheckLinks(text, a); err != nil {
		return publish.Message{}, err
	}
	body, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		return publish.Message{}, err
	}
	return publish.Message{
		Operation: channel.Operation("post", c.destination(me), a, c.options.Name, text),
		URL:       a.URL, Text: text, Body: body, Made: a.Made, Newest: a.Newest, Tier: "own posts",
	}, nil
}

// Effect is how a message is looked for and sent.
func (c *Channel) Effect(ctx context.Context, m publish.Message) (publish.Effect, error) {
	me, err := c.daily.Get(ctx, c.identify)
	if err != nil {
		return nil, err
	}
	m, err = c.options.Addressed(m, c.destination(me), c.Policy())
	return post{c, me, m}, err
}
