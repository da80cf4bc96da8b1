package publish

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

const blog = "https://example.org/posts/"

func heard(slug string, deliveries ...Delivery) Publication {
	in := Intent{Key: Key("media-001:2026-10-04:" + slug), URL: CanonicalURL(blog + slug + "/"), Date: "2026-10-04"}
	return Publication{Intent: in, Record: &Record{Intent: in, Outcome: Passed, Deliveries: deliveries}}
}

func lists(surface string, slugs ...string) ListingSeen {
	l := ListingSeen{Surface: surface, Whole: true, Entries: []string{"https://example.org/about/"}}
	for _, s := range slugs {
		l.Entries = append(l.Entries, blog+s)
	}
	return l
}

func TestAnAuditTellsWhatDoesNotAgree(t *testing.T) {
	passed, lost := Delivery{Channel: "mastodon", Outcome: Passed}, Delivery{Channel: "x", Outcome: FailedStep, Detail: "refused"}
	skipped := Delivery{Channel: "x", Skipped: true}
	running := heard("running")
	running.Record = nil
	due := Intent{Key: "media-001:2026-10-05:due", URL: blog + "due/", Date: "2026-10-05", Due: time.Date(2026, 10, 5, 0, 0, 0, 0, time.UTC), Approved: &Approved{By: "Ada"}}
	unapproved := due
	unapproved.Approved = nil
	now := time.Date(2026, 10, 5, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		facts AuditFacts
		live  int
		want  []string // kind, and what of it is told
	}{
		"all is well":                   {AuditFacts{Surfaces: []ListingSeen{lists("sitemap", "a/"), lists("feed", "a/")}, Published: []Publication{heard("a", passed, skipped)}}, 1, nil},
		"live, and unknown":             {AuditFacts{Surfaces: []ListingSeen{lists("sitemap", "a/", "b/")}, Published: []Publication{heard("a", passed)}}, 2, []string{"never_announced posts/b/"}},
		"announced before we came":      {AuditFacts{Surfaces: []ListingSeen{lists("sitemap", "a/")}, Backlog: map[string]bool{blog + "a/": true}}, 1, nil},
		"accepted":                      {AuditFacts{Surfaces: []ListingSeen{lists("sitemap", "a/")}, Accepted: map[string]bool{blog + "a/": true}}, 1, nil},
		"not on one channel":            {AuditFacts{Surfaces: []ListingSeen{lists("sitemap", "a/")}, Published: []Publication{heard("a", passed, lost)}}, 1, []string{"never_announced x"}},
		"gone":                          {AuditFacts{Surfaces: []ListingSeen{lists("sitemap")}, Published: []Publication{heard("a", passed)}}, 0, []string{"announced_not_live posts/a/"}},
		"a feed shows the newest alone": {AuditFacts{Surfaces: []ListingSeen{lists("feed")}, Published: []Publication{heard("a", passed)}}, 0, nil},
		"listed twice":                  {AuditFacts{Surfaces: []ListingSeen{lists("sitemap", "a/", "a/")}, Published: []Publication{heard("a", passed)}}, 1, []string{"listed_twice 2 times"}},
		"a variant":                     {AuditFacts{Surfaces: []ListingSeen{lists("sitemap", "a/"), lists("feed", "a/", "a")}, Published: []Publication{heard("a", passed)}}, 1, []string{"listed_twice the feed lists it also as"}},
		"a sitemap's variant": {
			AuditFacts{Surfaces: []ListingSeen{lists("sitemap", "a/", "a")}, Published: []Publication{heard("a", passed)}},
			2,
			[]string{"listed_twice also as", "never_announced posts/a"},
		},
		"overdue":                {AuditFacts{Surfaces: []ListingSeen{lists("sitemap")}, Calendar: []Intent{due}}, 0, []string{"overdue starter publish"}},
		"overdue, not approved":  {AuditFacts{Surfaces: []ListingSeen{lists("sitemap")}, Calendar: []Intent{unapproved}}, 0, []string{"overdue nobody has approved"}},
		"its run has not ended":  {AuditFacts{Surfaces: []ListingSeen{lists("sitemap", "running/")}, Published: []Publication{running}, Calendar: []Intent{{Key: running.Intent.Key, URL: running.Intent.URL, Approved: &Approved{}}}}, 1, []string{"overdue has not ended"}},
		"a sitemap that is none": {AuditFacts{Surfaces: []ListingSeen{{Surface: "sitemap", Problem: "status 500"}, lists("feed", "a/")}, Published: []Publication{heard("a", passed)}}, 1, []string{"unreadable status 500"}},
		"a sitemap cut short":    {AuditFacts{Surfaces: []ListingSeen{{Surface: "sitemap"}}, Published: []Publication{heard("a", passed)}}, 0, []string{"unreadable longer"}},
	} {
		c.facts.Now, c.facts.IsArticle = now, func(u string) bool { return strings.HasPrefix(u, blog) }
		live, got := Audit(c.facts)
		if live != c.live || len(got) != len(c.want) {
			t.Errorf("%s: %d live, %+v", name, live, got)
			continue
		}
		for _, want := range c.want {
			kind, what, _ := strings.Cut(want, " ")
			if !slices.ContainsFunc(got, func(f AuditFinding) bool {
				return string(f.Kind) == kind && strings.Contains(fmt.Sprintf("%+v", f), what) && f.Next != "" && f.Detail != ""
			}) {
				t.Errorf("%s: no %q in %+v", name, want, got)
			}
		}
	}
}

// TestNothingThatIsNotDueIsOverdue: the day begins where the campaign is at home.
func TestNothingThatIsNotDueIsOverdue(t *testing.T) {
	in := Intent{Key: "media-001:2026-10-05:due", URL: blog + "due/", Due: time.Date(2026, 10, 5, 10, 0, 0, 0, time.UTC)} // UTC-10
	for hour, want := range map[int]int{9: 0, 10: 1} {
		_, got := Audit(AuditFacts{Calendar: []Intent{in}, IsArticle: func(string) bool { return true }, Now: time.Date(2026, 10, 5, hour, 0, 0, 0, time.UTC)})
		if len(got) != want {
			t.Errorf("at %d: %+v", hour, got)
		}
	}
}
