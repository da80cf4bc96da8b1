// Package channel is what all channels share: what each declares about itself, how its text is composed,
// and how an answer is read. One folder below is one vendor.
package channel

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"colophon/publish"
)

// Tier is what a server offers against a second post.
type Tier int

// The tiers.
const (
	Keyed      Tier = 1 // a key or id that the caller chooses, and the server recognises
	Searchable Tier = 2 // own posts can be read back whole
	Blind      Tier = 3 // neither
)

// Repeat is whether an announcement may arrive twice.
type Repeat string

// The repeat policies: a ping that comes twice is noise, a post that comes twice is a mistake in public.
const (
	AtLeastOnce Repeat = "at-least-once"
	AtMostOnce  Repeat = "at-most-once"
)

// Policy is what a channel declares about itself.
type Policy struct {
	Tier     Tier
	Repeat   Repeat
	Gap      time.Duration // least time between two announcements on one account
	DailyCap int           // attempts a day on one account; 0 is no cap
	Settle   time.Duration // until a post can be expected to be read back
	Margin   time.Duration // by which clocks may differ when own posts are searched by time
	Pages    int           // of own posts that a look reads at most
	Updates  bool          // a correction reaches its readers without a second post
}

// Options are what every channel takes. What is zero is the channel's policy or default.
type Options struct {
	Name      string // of the connection, as configured
	Account   string // that the credential must belong to
	Template  string
	Language  string // of posts, unless the article says its own
	Gap       time.Duration
	DailyCap  int
	Zone      string // in which a day begins
	PageLimit int
}

// Apply is the policy under these options.
func (o Options) Apply(p Policy) Policy {
	if o.Gap > 0 {
		p.Gap = o.Gap
	}
	if o.DailyCap > 0 {
		p.DailyCap = o.DailyCap
	}
	if o.PageLimit > 0 {
		p.Pages = o.PageLimit
	}
	return p
}

// Lane is the lane of the account that a destination names.
func (o Options) Lane(destination string, p Policy) publish.Lane {
	p = o.Apply(p)
	return publish.Lane{Name: destination, Gap: p.Gap, Cap: p.DailyCap, Zone: o.Zone, Strict: p.Repeat == AtMostOnce}
}

// Addressed is a kept message with its lane, if it is for the account of that destination.
func (o Options) Addressed(m publish.Message, destination string, p Policy) (publish.Message, error) {
	if m.Operation.Destination != destination {
		return m, Halt("wrong_account", "give the channel the credential that the message was made for, or decide skip",
			"the message is for %s, the credential belongs to %s", m.Operation.Destination, destination)
	}
	m.Operation.Lane = o.Lane(destination, p)
	return m, nil
}

// Channel is what every channel is; channeltest is what each must keep. Nothing but an effect's Apply changes
// anything.
type Channel interface {
	// Policy declares the channel.
	Policy() Policy
	// Account asks the server whose the credential is, once a day, and answers the destination of the channel's
	// operations: KIND:HOST/ID. It refuses another account than configured, as "wrong_account".
	Account(ctx context.Context) (destination string, err error)
	// Backlog reads what the account has published, newest first, within the limit of pages.
	Backlog(ctx context.Context) (publish.Backlog, error)
	// Compose fixes an announcement, to the byte, and checks it: what the server says of it, its length by the
	// channel's own rule, its links.
	Compose(ctx context.Context, a publish.Announcement) (publish.Message, error)
	// Effect is how a message is looked for and sent.
	Effect(ctx context.Context, m publish.Message) (publish.Effect, error)
}

// Operation is the operation of an announcement on an account. What is a word for people: "post", "ping".
func Operation(what, destination string, a publish.Announcement, name, text string) publish.Operation {
	_, account, _ := strings.Cut(destination, "/")
	return publish.Operation{
		What: what, Intent: a.Intent.Key, Destination: destination, ContentID: a.Intent.ContentID(),
		Revision: a.Intent.Revision, Channel: name, Account: account, Text: Digest(text),
	}
}

// CheckLinks refuses a text that links to anything but the article and what its entry allows.
func CheckLinks(text string, a publish.Announcement) error {
	for _, l := range Links.FindAllString(text, -1) {
		if l != a.URL && !slices.Contains(a.Intent.Links, l) {
			return Halt("surprise_link", "take the link out of the title or description, or allow it in the calendar's entry", "the post links to %s", l)
		}
	}
	return nil
}

var placeholder = regexp.MustCompile(`\{[a-z_]*\}`)

// CheckTemplate refuses a template with a placeholder that does not exist, or without {url}.
func CheckTemplate(template string) error {
	for _, p := range placeholder.FindAllString(template, -1) {
		switch p {
		case "{title}", "{description}", "{url}", "{tags}":
		default:
			return fmt.Errorf("template: there is no %s; use {title}, {description}, {url} and {tags}", p)
		}
	}
	if !strings.Contains(template, "{url}") {
		return fmt.Errorf("template: has no {url}, by which the post is found again")
	}
	return nil
}

// Compose fills a template.
func Compose(template string, a publish.Announcement) string {
	var tags []string
	for _, t := range a.Tags {
		tags = append(tags, "#"+hashtag.ReplaceAllString(t, ""))
	}
	text := strings.NewReplacer("{title}", a.Title, "{description}", a.Description, "{url}", a.URL, "{tags}", strings.Join(tags, " ")).Replace(template)
	return strings.TrimSpace(text)
}

var hashtag = regexp.MustCompile(`[^\p{L}\p{N}_]+`)

// Links finds the links in a text.
var Links = regexp.MustCompile(`https?://[^\s<>"]+`)

// Digest is the SHA-256 of a text's exact bytes, in hexadecimal.
func Digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Refused reads an answer that is no success: what it proves, by an allow-list. Said is the server's own
// word, if the body could be parsed as its error.
func Refused(what string, status int, said string, parsed bool, after time.Duration) *publish.Trouble {
	t := &publish.Trouble{Kind: publish.Unknown, Condition: "server_error", Detail: what, Status: status}
	if said != "" {
		t.Detail = what + ": " + said
	}
	switch status {
	case http.StatusTooManyRequests:
		t.Kind, t.Condition, t.After = publish.Deferred, "rate_limited", max(after, time.Minute)
	case http.StatusUnauthorized:
		t.Kind, t.Condition, t.Next = publish.Halted, "bad_credentials", "renew the channel's token, then decide retry"
	case http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusGone,
		http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		if parsed {
			t.Kind, t.Condition = publish.Rejected, "rejected"
		}
	}
	return t
}

// Halt is a named condition that stops an announcement before anything is sent.
func Halt(c publish.Condition, next, format string, args ...any) *publish.Trouble {
	return &publish.Trouble{Kind: publish.Halted, Condition: c, Detail: fmt.Sprintf(format, args...), Next: next}
}
