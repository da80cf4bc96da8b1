// Package mastodon announces articles on a Mastodon account. https://docs.joinmastodon.org/methods/statuses/
//
// Mastodon recognises a second post by its Idempotency-Key for an hour; servers of other makes may not
// know the key at all. So the key is sent, and never relied upon: after a lost answer the account's own
// posts are read back.
package mastodon

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"colophon/internal/channel"
	"colophon/publish"

	"github.com/rivo/uniseg"
)

// Options configure the channel. Account is the account that the token must belong to: "press" or
// "press@mastodon.example".
type Options struct {
	channel.Options
	Server     string // https://mastodon.example, without a slash at the end
	Visibility string // "public" unless set
}

// Channel is the channel. Its identity and the server's limits are read once a day.
type Channel struct {
	client  *http.Client
	options Options
	daily   channel.Daily[identity]
}

// identity is what the server says of the token's account and of itself.
type identity struct {
	id, acct         string
	maxChars, urlLen int
	tier             string
}

// New makes the channel over a client that adds the token; nothing is sent.
func New(client *http.Client, o Options) (*Channel, error) {
	if o.Template == "" {
		o.Template = "{title}\n\n{url}"
	}
	if o.Visibility == "" {
		o.Visibility = "public"
	}
	o.Server = strings.TrimSuffix(o.Server, "/")
	if u, err := url.Parse(o.Server); err != nil || u.Host == "" {
		return nil, fmt.Errorf("server %q: want the server's URL, as https://mastodon.example", o.Server)
	}
	return &Channel{client: client, options: o}, channel.CheckTemplate(o.Template)
}

// Policy declares the channel. The tier is the best that a server has: which it has, its messages tell.
func (c *Channel) Policy() channel.Policy {
	return c.options.Apply(channel.Policy{
		Tier: channel.Keyed, Repeat: channel.AtMostOnce, Gap: time.Minute, DailyCap: 50,
		Settle: 5 * time.Second, Margin: 10 * time.Minute, Pages: 25,
	})
}

// Account asks whose the token is.
func (c *Channel) Account(ctx context.Context) (string, error) {
	me, err := c.daily.Get(ctx, c.identify)
	return c.destination(me), err
}

func (c *Channel) destination(me identity) string { return "mastodon:" + c.host() + "/" + me.id }

func (c *Channel) host() string {
	_, host, _ := strings.Cut(c.options.Server, "://")
	return host
}

// Compose fixes the text and checks it: the account, the length by the server's own rule, the links.
func (c *Channel) Compose(ctx context.Context, a publish.Announcement) (publish.Message, error) {
	me, err := c.daily.Get(ctx, c.identify)
	if err != nil {
		return publish.Message{}, err
	}
	text := channel.Compose(c.options.Template, a)
	if n := length(text, me.urlLen); n > me.maxChars {
		return publish.Message{}, channel.Halt("text_too_long", "shorten the title or the template", "the post has %d characters, %s takes %d", n, c.host(), me.maxChars)
	}
	if err := channel.CheckLinks(text, a); err != nil {
		return publish.Message{}, err
	}
	language := c.options.Language
	if a.Language != "" {
		language = a.Language
	}
	body, err := json.Marshal(map[string]string{"status": text, "visibility": c.options.Visibility, "language": language})
	if err != nil {
		return publish.Message{}, err
	}
	op := channel.Operation("post", c.destination(me), a, c.options.Name, text)
	return publish.Message{
		Operation: op, URL: a.URL, Text: text, Body: body, ID: channel.Digest(string(op.Key()) + ":" + me.id), Made: a.Made,
		Newest: a.Newest, Tier: me.tier,
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

// length counts as Mastodon does: characters as a reader sees them, and every link as a fixed number.
func length(text string, urlLen int) int {
	return uniseg.GraphemeClusterCount(channel.Links.ReplaceAllString(text, strings.Repeat("x", urlLen)))
}

// identify asks which account the token belongs to, and refuses another than configured; then what the server
// takes.
func (c *Channel) identify(ctx context.Context) (identity, error) {
	var me account
	if err := c.get(ctx, "/api/v1/accounts/verify_credentials", &me, nil); err != nil {
		return identity{}, err
	}
	want, _, _ := strings.Cut(strings.TrimPrefix(c.options.Account, "@"), "@")
	if got, _, _ := strings.Cut(me.Acct, "@"); me.ID == "" || !strings.EqualFold(got, want) {
		return identity{}, channel.Halt("wrong_account", "give this channel the token of its own account", "the token belongs to @%s, the channel to @%s", me.Acct, want)
	}
	var about struct {
		Version       string
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
	return identity{me.ID, me.Acct, limits.MaxCharacters, limits.CharactersReservedPerURL, tier(about.Version)}, nil
}

var release = regexp.MustCompile(`^(\d+)\.\d+\.\d+`)

// tier tells Mastodon and its forks, which know the Idempotency-Key per account, from servers that only speak its
// API: those say what they are compatible with, or count their versions from nought.
func tier(version string) string {
	m := release.FindStringSubmatch(version)
	if m == nil || strings.Contains(version, "compatible") {
		return "own posts, " + version
	}
	if major, err := strconv.Atoi(m[1]); err != nil || major == 0 {
		return "own posts, " + version
	}
	return "key for an hour, " + version
}
