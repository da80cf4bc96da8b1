// Package calendar reads the editorial calendar: which article, on which day, for which campaign.
package calendar

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // so that a host without time zones knows them

	"colophon/internal/strictyaml"
	"colophon/publish"
)

// Calendar is a calendar that holds no contradictions.
type Calendar struct {
	Entries []Entry
}

// Entry is one line of the calendar.
type Entry struct {
	Key      publish.Key
	Date     publish.Date // in the campaign's time zone
	Zone     *time.Location
	Topic    string
	Slug     string
	Draft    string // path of the draft's file
	Channels []string
	Links    []string // that announcements may hold besides the article's own
	Repost   []string // channels that a correction is announced on again
	Approved *Approval
	Revision int
	Line     int // in the file
}

// Approval is who approved an entry, and when.
type Approval struct {
	By string    `yaml:"by"`
	At time.Time `yaml:"at"`
}

// file is the calendar as it is written.
type file struct {
	Campaigns map[string]struct {
		Zone     string   `yaml:"zone"`
		Channels []string `yaml:"channels"`
	} `yaml:"campaigns"`
	Entries []struct {
		Campaign string    `yaml:"campaign"`
		ID       string    `yaml:"id"`
		Date     string    `yaml:"date"`
		Topic    string    `yaml:"topic"`
		Slug     string    `yaml:"slug"`
		Draft    string    `yaml:"draft"`
		Channels []string  `yaml:"channels"`
		Links    []string  `yaml:"links"`
		Repost   []string  `yaml:"repost"`
		Approved *Approval `yaml:"approved"`
		Revision int       `yaml:"revision"`
	} `yaml:"entries"`
}

// Read reads a calendar's file. Faults are told with their lines: the first that keeps the YAML from being
// read, or else all wrong values at once.
func Read(path string) (Calendar, error) {
	source, err := os.ReadFile(path)
	if err != nil {
		return Calendar{}, fmt.Errorf("calendar: %w", err)
	}
	return Parse(path, source)
}

// Parse reads a calendar; drafts are found beside its file.
func Parse(path string, source []byte) (Calendar, error) {
	var f file
	doc, err := strictyaml.Decode(path, source, &f)
	if err != nil {
		return Calendar{}, err
	}
	zones := map[string]*time.Location{}
	for name, c := range f.Campaigns {
		zone, err := time.LoadLocation(c.Zone)
		if err != nil || c.Zone == "" || c.Zone == "Local" {
			doc.Wrong("$.campaigns."+name+".zone", "%q is no time zone; want a name such as Europe/Berlin", c.Zone)
			continue
		}
		zones[name] = zone
	}
	var cal Calendar
	for n, e := range f.Entries {
		at := fmt.Sprintf("$.entries[%d]", n)
		campaign, known := f.Campaigns[e.Campaign]
		if !known {
			doc.Wrong(at+".campaign", "there is no campaign %q; there are: %s", e.Campaign, strings.Join(names(f), ", "))
			continue
		}
		entry := Entry{
			Topic: e.Topic, Slug: e.Slug, Date: publish.Date(e.Date), Zone: zones[e.Campaign], Approved: e.Approved,
			Channels: e.Channels, Links: e.Links, Repost: e.Repost, Revision: max(e.Revision, 1), Line: doc.Line(at), Draft: filepath.Join(filepath.Dir(path), filepath.FromSlash(e.Draft)),
		}
		if entry.Channels == nil {
			entry.Channels = campaign.Channels
		}
		if entry.Key, err = publish.NewKey(e.Campaign, entry.Date, e.ID); err != nil {
			doc.Wrong(at+"."+field(err), "%v", err)
		}
		if err := publish.CheckSlug(e.Slug); err != nil {
			doc.Wrong(at+".slug", "%v", err)
		}
		if strings.TrimSpace(e.Topic) == "" {
			doc.Wrong(at+".topic", "is missing")
		}
		if e.Draft == "" || !filepath.IsLocal(filepath.FromSlash(e.Draft)) {
			doc.Wrong(at+".draft", "%q: want the path of a file in the calendar's folder", e.Draft)
		}
		if e.Revision < 0 {
			doc.Wrong(at+".revision", "%d: want 1 or more", e.Revision)
		}
		if len(e.Repost) > 0 && e.Revision < 2 {
			doc.Wrong(at+".repost", "is for a correction; want a revision of 2 or more, or take it out")
		}
		if e.Approved != nil && (e.Approved.By == "" || e.Approved.At.IsZero()) {
			doc.Wrong(at+".approved", "want who approved it (by) and when (at)")
		}
		cal.contradictions(doc, at, entry)
		cal.Entries = append(cal.Entries, entry)
	}
	if err := doc.Err(); err != nil {
		return Calendar{}, err
	}
	return cal, nil
}

// field is the part of a key that an error is about.
func field(err error) string {
	switch {
	case strings.HasPrefix(err.Error(), "date"):
		return "date"
	case strings.HasPrefix(err.Error(), "entry"):
		return "id"
	default:
		return "campaign"
	}
}

// contradictions notes what two entries may not share.
func (c Calendar) contradictions(doc *strictyaml.Document, at string, e Entry) {
	for _, other := range c.Entries {
		switch {
		case other.Key == e.Key:
			doc.Wrong(at+".id", "%s stands on line %d already", e.Key, other.Line)
		case other.Slug == e.Slug:
			doc.Wrong(at+".slug", "%q is the slug of %s on line %d", e.Slug, other.Key, other.Line)
		case other.Date == e.Date && strings.EqualFold(strings.TrimSpace(other.Topic), strings.TrimSpace(e.Topic)):
			doc.Wrong(at+".topic", "%s has this topic on this date, on line %d", other.Key, other.Line)
		}
	}
}

func names(f file) []string {
	var out []string
	for name := range f.Campaigns {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// Find answers the entry with a key.
func (c Calendar) Find(key publish.Key) (Entry, error) {
	var near []string
	for _, e := range c.Entries {
		if e.Key == key {
			return e, nil
		}
		if e.Date == key.Date() || e.Key.Entry() == key.Entry() {
			near = append(near, string(e.Key))
		}
	}
	if len(near) > 0 {
		return Entry{}, fmt.Errorf("the calendar has no %s; did you mean %s?", key, strings.Join(near, " or "))
	}
	return Entry{}, fmt.Errorf("the calendar has no %s", key)
}
