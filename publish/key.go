package publish

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Key names an intent: campaign:date:entry, for example "media-001:2026-10-04:idempotency". It says
// what is intended and never which run, attempt, process or schedule does it.
type Key string

var namePattern = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// maxName bounds a campaign, entry or slug; a key stays far below Temporal's 1,000 bytes.
const maxName = 100

// NewKey joins a key from its parts, which must be well formed.
func NewKey(campaign string, date Date, entry string) (Key, error) {
	if err := checkName("campaign", campaign); err != nil {
		return "", err
	}
	if _, err := ParseDate(string(date)); err != nil {
		return "", err
	}
	if err := checkName("entry", entry); err != nil {
		return "", err
	}
	return Key(campaign + ":" + string(date) + ":" + entry), nil
}

// ParseKey reads a key, and refuses one that is not exactly campaign:date:entry.
func ParseKey(s string) (Key, error) {
	parts := strings.Split(s, ":")
	if len(parts) != 3 {
		return "", fmt.Errorf("key %q: want campaign:date:entry, as in media-001:2026-10-04:idempotency", s)
	}
	k, err := NewKey(parts[0], Date(parts[1]), parts[2])
	if err != nil {
		return "", fmt.Errorf("key %q: %w", s, err)
	}
	return k, nil
}

func (k Key) part(i int) string {
	parts := strings.SplitN(string(k), ":", 3)
	if i >= len(parts) {
		return ""
	}
	return parts[i]
}

// Campaign is the key's first part.
func (k Key) Campaign() string { return k.part(0) }

// Date is the key's second part.
func (k Key) Date() Date { return Date(k.part(1)) }

// Entry is the key's third part.
func (k Key) Entry() string { return k.part(2) }

// Date is a calendar day, YYYY-MM-DD, in the campaign's time zone.
type Date string

// ParseDate reads a date and refuses days that do not exist.
func ParseDate(s string) (Date, error) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil || t.Format(time.DateOnly) != s {
		return "", fmt.Errorf("date %q: want a day that exists, as YYYY-MM-DD", s)
	}
	return Date(s), nil
}

// Midnight is the first instant of the date in UTC: a fixed time for things that must not depend on
// when they are made, such as a commit.
func (d Date) Midnight() time.Time {
	t, _ := time.Parse(time.DateOnly, string(d))
	return t.UTC()
}

func checkName(what, s string) error {
	if len(s) > maxName || !namePattern.MatchString(s) {
		return fmt.Errorf("%s %q: want lower-case letters, digits and single hyphens, at most %d of them", what, s, maxName)
	}
	return nil
}
