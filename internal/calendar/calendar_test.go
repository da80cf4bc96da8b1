package calendar

import (
	"fmt"
	"strings"
	"testing"
)

const good = `campaigns:
  media-001: {zone: Europe/Berlin, channels: [indexnow]}
entries:
  - campaign: media-001
    id: one
    date: 2026-10-04
    topic: One
    slug: one
    draft: drafts/one.md
  - campaign: media-001
    id: two
    date: 2026-10-04
    topic: Two
    slug: two
    draft: drafts/two.md
    channels: []
`

func TestCalendarIsRead(t *testing.T) {
	c, err := Parse("/x/calendar.yaml", []byte(good))
	if err != nil {
		t.Fatal(err)
	}
	e, err := c.Find("media-001:2026-10-04:one")
	if err != nil || e.Draft != "/x/drafts/one.md" || e.Revision != 1 || e.Line != 4 || len(e.Channels) != 1 || e.Zone.String() != "Europe/Berlin" {
		t.Errorf("%+v, %v", e, err)
	}
	if e, _ := c.Find("media-001:2026-10-04:two"); len(e.Channels) != 0 {
		t.Errorf("an entry that wants no channel has %v", e.Channels)
	}
	if _, err := c.Find("media-001:2026-10-04:three"); err == nil || !strings.Contains(err.Error(), "did you mean") {
		t.Errorf("%v", err)
	}
}

func TestContradictionsAndFaultsAreToldWithTheirLine(t *testing.T) {
	for name, c := range map[string]struct {
		old, put string
		line     int
		want     string
	}{
		"no such day":  {"date: 2026-10-04\n    topic: One", "date: 2026-02-30\n    topic: One", 6, "a day that exists"},
		"slug escapes": {"slug: one", "slug: ../one", 8, "lower-case letters"},
		"same key":     {"id: two", "id: one", 11, "line 4 already"},
		"same slug":    {"slug: two", "slug: one", 14, "is the slug of"},
		"same topic":   {"topic: Two", "topic: ' one '", 13, "has this topic"},
		"no campaign":  {"campaign: media-001\n    id: two", "campaign: media-2\n    id: two", 10, "there are: media-001"},
		"no zone":      {"Europe/Berlin", "Europe/Bonn", 2, "no time zone"},
		"draft out":    {"drafts/two.md", "../../etc/passwd", 15, "calendar's folder"},
		"unknown key":  {"topic: Two", "topik: Two", 13, "unknown field"},
		"no topic":     {"topic: Two", "topic: ''", 13, "is missing"},
	} {
		_, err := Parse("calendar.yaml", []byte(strings.Replace(good, c.old, c.put, 1)))
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("calendar.yaml:%d:", c.line)) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want line %d and %q", name, err, c.line, c.want)
		}
	}
	both := strings.NewReplacer("slug: one", "slug: A", "slug: two", "slug: B").Replace(good)
	if _, err := Parse("c", []byte(both)); err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("two faults at once: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	f.Fuzz(func(_ *testing.T, source []byte) { _, _ = Parse("c.yaml", source) })
}
