// Package channel is what all channels share: what each declares about itself, how its text is composed,
// and how an answer is read. One folder below is one vendor.
package channel

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"regexp"
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
