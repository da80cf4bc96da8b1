// Package bluesky announces articles on a Bluesky account, over its PDS.
// https://docs.bsky.app/docs/api/com-atproto-repo-put-record
//
// The caller chooses the record's key. A record is put only where there is none, so that a second request changes
// nothing; after a lost answer that one record is read.
package bluesky

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"colophon/internal/channel"
	"colophon/publish"

	"github.com/rivo/uniseg"
)

// Collection is where posts are kept in a repository.
const Collection = "app.bsky.feed.post"

// The limits of a post's text, by its lexicon.
const (
	maxGraphemes = 300
	maxBytes     = 3000
)

// SignIn are the paths of the requests that open a session.
var SignIn = []string{"/xrpc/com.atproto.server.createSession", "/xrpc/com.atproto.server.refreshSession"}

// Options configure the channel. Account is the account's handle or DID.
type Options struct {
	channel.Options
	Server   string // of the account's PDS, as https://bsky.social
	Password string // an app password
}

// Channel is the channel. Its session is kept and renewed; whose it is, is asked once a day.
type Channel struct {
	client  *http.Client
	options Options
	daily   channel.Daily[identity]

	mu      sync.Mutex
	session session
}

// identity is whose the session is.
type identity struct{ did, handle string }

// New makes the channel over a client that lets sign-ins pass; nothing is sent.
func New(client *http.Client, o Options) (*Channel, error) {
	if o.Template == "" {
		o.Template = "{title}\n\n{url} {tags}"
	}
	o.Server = strings.TrimSuffix(o.Server, "/")
	o.Account = strings.TrimPrefix(o.Account, "@")
	if u, err := url.Parse(o.Server); err != nil || u.Host == "" {
		return nil, fmt.Errorf("server %q: want the URL of the account's PDS, as https://bsky.social", o.Server)
	}
	return &Channel{client: client, options: o}, channel.CheckTemplate(o.Template)
}

// Policy declares the channel.
func (c *Channel) Policy() channel.Policy {
	return c.options.Apply(channel.Policy{
		Tier: channel.Keyed, Repeat: channel.AtMostOnce, Gap: time.Minute, DailyCap: 50,
		Settle: 2 * time.Second, Margin: 10 * time.Minute, Pages: 10,
	})
}

// Account signs in.
func (c *Channel) Account(ctx context.Context) (string, error) {
	me, err := c.daily.Get(ctx, c.identify)
	return c.destination(me), err
}

// destination has the DID, which stays when the handle changes or the account moves to another PDS.
func (c *Channel) destination(me identity) string { return "bluesky:" + me.did + "/" + me.did }

func (c *Channel) identify(ctx context.Context) (identity, error) {
	s, err := c.signedIn(ctx)
	if err != nil {
		return identity{}, err
	}
	if !strings.EqualFold(s.Handle, c.options.Account) && s.DID != c.options.Account {
		return identity{}, channel.Halt("wrong_account", "give this channel the app password of its own account, and the account's handle as it is now",
			"the password belongs to @%s, the channel to @%s", s.Handle, c.options.Account)
	}
	return identity{s.DID, s.Handle}, nil
}

// Compose fixes the record and its key, and checks its length.
func (c *Channel) Compose(ctx context.Context, a publish.Announcement) (publish.Message, error) {
	me, err := c.daily.Get(ctx, c.identify)
	if err != nil {
		return publish.Message{}, err
	}
	text := channel.Compose(c.options.Template, a)
	if n := uniseg.GraphemeClusterCount(text); n > maxGraphemes {
		return publish.Message{}, channel.Halt("text_too_long", "shorten the title or the template", "the post has %d characters, Bluesky takes %d", n, maxGraphemes)
	}
	if n := len(text); n > maxBytes {
		return publish.Message{}, channel.Halt("text_too_long", "shorten the title or the template", "the post has %d bytes, Bluesky takes %d", n, maxBytes)
	}
	if err := channel.CheckLinks(text, a); err != nil {
		return publish.Message{}, err
	}
	language := c.options.Language
	if a.Language != "" {
		language = a.Language
	}
	op := channel.Operation("post", c.destination(me), a, c.options.Name, text)
	key := recordKey(a.Made, string(op.Key()))
	body, err := json.Marshal(put{Repo: me.did, Collection: Collection, RKey: key, Record: newRecord(text, language, a)})
	if err != nil {
		return publish.Message{}, err
	}
	return publish.Message{
		Operation: op, URL: a.URL, Text: text, Body: body, ID: key, Made: a.Made, Newest: a.Newest, Tier: "the record's key",
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
