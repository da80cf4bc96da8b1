// Package devto announces articles on DEV, or on another site that runs Forem: whole, with the site's own page as
// the canonical one. https://developers.forem.com/api/v1
//
// Forem knows no keys, and no two published articles with one canonical URL. So after a lost answer the account's own
// articles are read back. A correction updates the article in place.
package devto

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
	"unicode/utf8"

	"colophon/internal/channel"
	"colophon/publish"
)

// The limits of an article.
const (
	maxTitle = 128 // characters
	maxTags  = 4
)

// Options configure the channel. Account is the user name that the key must belong to.
type Options struct {
	channel.Options
	Server string // https://dev.to, without a slash at the end
}

// Channel is the channel. Whose the key is, is asked once a day.
type Channel struct {
	client  *http.Client
	options Options
	daily   channel.Daily[identity]
}

type identity struct{ id, username string }

// New makes the channel over a client that adds the key; nothing is sent.
func New(client *http.Client, o Options) (*Channel, error) {
	o.Server = strings.TrimSuffix(o.Server, "/")
	if u, err := url.Parse(o.Server); err != nil || u.Host == "" {
		return nil, fmt.Errorf("server %q: want the server's URL, as https://dev.to", o.Server)
	}
	return &Channel{client: client, options: o}, nil
}

// Policy declares the channel. The gap is what has been seen to hold, well within the server's own limits.
func (c *Channel) Policy() channel.Policy {
	return c.options.Apply(channel.Policy{
		Tier: channel.Searchable, Repeat: channel.AtMostOnce, Gap: 75 * time.Second, DailyCap: 20,
		Settle: 5 * time.Second, Margin: 10 * time.Minute, Pages: 10, Updates: true,
	})
}

// Account asks whose the key is.
func (c *Channel) Account(ctx context.Context) (string, error) {
	me, err := c.daily.Get(ctx, c.identify)
	return c.destination(me), err
}

func (c *Channel) destination(me identity) string { return "devto:" + c.host() + "/" + me.id }

func (c *Channel) host() string {
	_, host, _ := strings.Cut(c.options.Server, "://")
	return host
}

func (c *Channel) identify(ctx context.Context) (identity, error) {
	var me struct {
		ID       int64
		Username string
	}
	if _, err := c.call(ctx, http.MethodGet, "/api/users/me", nil, &me, http.StatusOK); err != nil {
		return identity{}, err
	}
	if want := strings.TrimPrefix(c.options.Account, "@"); me.ID == 0 || !strings.EqualFold(me.Username, want) {
		return identity{}, channel.Halt("wrong_account", "give this channel the key of its own account", "the key belongs to @%s, the channel to @%s", me.Username, want)
	}
	return identity{strconv.FormatInt(me.ID, 10), me.Username}, nil
}

// request is what an article is made or updated by.
type request struct {
	Article article `json:"article"`
}

type article struct {
	Title        string   `json:"title"`
	Body         string   `json:"body_markdown"`
	Published    bool     `json:"published"`
	Tags         []string `json:"tags"`
	CanonicalURL string   `json:"canonical_url"`
	Description  string   `json:"description,omitempty"`
}

// Compose fixes the article and checks it. Its links are the article's own; those of its title and description are not.
func (c *Channel) Compose(ctx context.Context, a publish.Announcement) (publish.Message, error) {
	me, err := c.daily.Get(ctx, c.identify)
	if err != nil {
		return publish.Message{}, err
	}
	if err := check(a); err != nil {
		return publish.Message{}, err
	}
	in := article{Title: a.Title, Body: absolute(a.Markdown, a.URL), Published: true, Tags: tags(a.Tags), CanonicalURL: a.URL, Description: a.Description}
	body, err := json.Marshal(request{in})
	if err != nil {
		return publish.Message{}, err
	}
	what := "post"
	if a.Previous.ID != "" {
		what = publish.Update
	}
	return publish.Message{
		Operation: channel.Operation(what, c.destination(me), a, c.options.Name, in.Title+"\n\n"+in.Body),
		URL:       a.URL, Text: in.Body, Body: body, Made: a.Made, Newest: a.Newest, Replaces: a.Previous.ID, Tier: "own articles",
	}, nil
}

func check(a publish.Announcement) error {
	if n := utf8.RuneCountInString(a.Title); n > maxTitle {
		return channel.Halt("text_too_long", "shorten the title", "the title has %d characters, DEV takes %d", n, maxTitle)
	}
	if err := channel.CheckLinks(a.Title+" "+a.Description, a); err != nil {
		return err
	}
	if strings.HasPrefix(strings.TrimSpace(a.Markdown), "---") {
		return channel.Halt("front_matter", "begin the article with something else than a rule of dashes", "the article begins with ---, which DEV reads as settings of its own")
	}
	liquid := ""
	prose(a.Markdown, func(s string) string {
		if liquid == "" {
			liquid = liquidTag.FindString(s)
		}
		return s
	})
	if liquid != "" {
		return channel.Halt("liquid_tag", "put it into code, or say it in other words", "the article has %q, which DEV would run", liquid)
	}
	return nil
}

var (
	liquidTag = regexp.MustCompile(`\{%[^%]*%\}`)
	code      = regexp.MustCompile("(?ms)^(?:```|~~~).*?^(?:```|~~~)[ \t]*$|`[^`\n]+`")
	rooted    = regexp.MustCompile(`\]\((/[^/)\s][^)\s]*)`)
	plain     = regexp.MustCompile(`[^a-z0-9]+`)
)

// prose replaces what is no code.
func prose(markdown string, f func(string) string) string {
	var b strings.Builder
	last := 0
	for _, at := range code.FindAllStringIndex(markdown, -1) {
		b.WriteString(f(markdown[last:at[0]]))
		b.WriteString(markdown[at[0]:at[1]])
		last = at[1]
	}
	b.WriteString(f(markdown[last:]))
	return b.String()
}

// absolute has links that begin at the site's root lead to the site.
func absolute(markdown, page string) string {
	u, err := url.Parse(page)
	if err != nil {
		return markdown
	}
	root := u.Scheme + "://" + u.Host
	return prose(markdown, func(s string) string {
		return rooted.ReplaceAllString(s, "]("+strings.ReplaceAll(root, "$", "$$")+"$1")
	})
}

// tags are the first four, in the letters and digits that DEV knows.
func tags(all []string) []string {
	out := []string{}
	for _, t := range all {
		if t = plain.ReplaceAllString(strings.ToLower(t), ""); t != "" && len(out) < maxTags {
			out = append(out, t)
		}
	}
	return out
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
