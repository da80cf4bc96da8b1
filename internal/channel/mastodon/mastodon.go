// Package mastodon announces articles on a Mastodon account. https://docs.joinmastodon.org/methods/statuses/
//
// Mastodon recognises a second post by its Idempotency-Key for an hour; servers of other makes may not
// know the key at all. So the key is sent, and never relied upon: after a lost answer the account's own
// posts are read back.
package mastodon

import (
	"context"
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

// Options configure the channel.
type Options struct {
	Name       string
	Server     string // https://mastodon.example, without a slash at the end
	Account    string // the account that the token must belong to, "press" or "press@mastodon.example"
	Visibility string // "public" unless set
	Language   string // of posts, unless the article says its own
	Template   string // "{title}\n\n{url}" unless set
	PageLimit  int    // pages of own posts that a look reads, 25 unless set
}

// Channel is the channel. Its identity and the server's limits are read once a day.
type Channel struct {
	client  *http.Client
	options Options

	mu      sync.Mutex
	known   identity
	expires time.Time
}

// identity is what the server says of the token's account and of itself.
type identity struct {
	id, acct         string
	maxChars, urlLen int
}

// New makes the channel over a client that adds the token; nothing is sent.
func New(client *http.Client, o Options) (*Channel, error) {
	if o.Template == "" {
		o.Template = "{title}\n\n{url}"
	}
	if o.Visibility == "" {
		o.Visibility = "public"
	}
	if o.PageLimit == 0 {
		o.PageLimit = 25
	}
	o.Server = strings.TrimSuffix(o.Server, "/")
	if u, err := url.Parse(o.Server); err != nil || u.Host == "" {
		return nil, fmt.Errorf("server %q: want the server's URL, as https://mastodon.example", o.Server)
	}
	return &Channel{client: client, options: o}, channel.CheckTemplate(o.Template)
}

// Policy declares the channel.
func (*Channel) Policy() channel.Policy {
	return channel.Policy{Tier: channel.Keyed, Repeat: channel.AtMostOnce, Gap: time.Minute, DailyCap: 50, Settle: 5 * time.Second, Margin: 10 * time.Minute}
}

// Prepare fixes the exact text and checks it: the account, the length by the server's own rule, and that it
// links to nothing but the article.
func (c *Channel) Prepare(ctx context.Context, a publish.Announcement) (publish.Effect, error) {
	me, err := c.whoami(ctx)
	if err != nil {
		return nil, err
	}
	text := channel.Compose(c.options.Template, a)
	if n := length(text, me.urlLen); n > me.maxChars {
		return nil, channel.Halt("text_too_long", "shorten the title or the template", "the post has %d characters, %s takes %d", n, c.host(), me.maxChars)
	}
	for _, l := range channel.Links.FindAllString(text, -1) {
		if l != a.URL {
			return nil, channel.Halt("surprise_link", "take the link out of the title or description", "the post links to %s", l)
		}
	}
	language := c.options.Language
	if a.Language != "" {
		language = a.Language
	}
	return post{c, me, a.URL, text, language, publish.Operation{
		What: "post", Intent: a.Intent.Key, Destination: "mastodon:" + c.host() + "/" + me.id, ContentID: a.Intent.ContentID(),
		Revision: a.Intent.Revision, Channel: c.options.Name, Account: me.id, Text: channel.Digest(text),
	}}, nil
}

func (c *Channel) host() string {
	_, host, _ := strings.Cut(c.options.Server, "://")
	return host
}

// length counts as Mastodon does: characters as a reader sees them, and every link as a fixed number.
func length(text string, urlLen int) int {
	return uniseg.GraphemeClusterCount(channel.Links.ReplaceAllString(text, strings.Repeat("x", urlLen)))
}

// whoami asks which account the token belongs to, once a day, and refuses another than configured.
func (c *Channel) whoami(ctx context.Context) (identity, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Now().Before(c.expires) {
		return c.known, nil
	}
	var me account
	if err := c.get(ctx, "/api/v1/accounts/verify_credentials", &me, nil); err != nil {
		return identity{}, err
	}
	want, _, _ := strings.Cut(strings.TrimPrefix(c.options.Account, "@"), "@")
	if got, _, _ := strings.Cut(me.Acct, "@"); me.ID == "" || !strings.EqualFold(got, want) {
		return identity{}, channel.Halt("wrong_account", "give this channel the token of its own account", "the token belongs to @%s, the channel to @%s", me.Acct, want)
	}
	var about struct {
		Configuration struct {
			Statuses struct {
				MaxCharacters            int `json:"max_characters"`
				CharactersReservedPerURL int `json:"characters_reserved_per_url"`
			}
		}
	}
	if err := c.get(ctx, "/api/v2/instance", &about, nil); err != nil {
		return identity{}, err
	}
	limits := about.Configuration.Statuses
	if limits.MaxCharacters <= 0 || limits.CharactersReservedPerURL <= 0 {
		return identity{}, channel.Halt("limits_unknown", "see that the server is a Mastodon server", "%s does not tell its limits", c.host())
	}
	c.known = identity{me.ID, me.Acct, limits.MaxCharacters, limits.CharactersReservedPerURL}
	c.expires = time.Now().Add(24 * time.Hour)
	return c.known, nil
}
