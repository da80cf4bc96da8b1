package publish

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// AuditFinding is something that does not agree between the live site, the ledger and the calendar.
type AuditFinding struct {
	Kind    AuditKind `json:"kind"`
	URL     string    `json:"url,omitempty"`
	Key     Key       `json:"key,omitempty"`
	Channel string    `json:"channel,omitempty"`
	Detail  string    `json:"detail"`
	Next    string    `json:"next"`
}

// AuditKind is what a finding is about.
type AuditKind string

// The kinds of findings, the gravest first.
const (
	Silent      AuditKind = "never_announced" // live, and on no channel, or not on one it should be on
	Ghost       AuditKind = "announced_not_live"
	ListedTwice AuditKind = "listed_twice" // in one surface, as itself or as a variant
	Overdue     AuditKind = "overdue"      // in the calendar, its day has begun, and it is not published
	Unaudited   AuditKind = "unreadable"   // a surface, or a part of it
)

// AuditedSurfaces are the surfaces that can say what is live: the first that is read does.
var AuditedSurfaces = []string{"sitemap", "feed", "index"}

// AuditFacts are what an audit compares.
type AuditFacts struct {
	Surfaces []ListingSeen
	// IsArticle says whether a URL is that of an article, and not of another page.
	IsArticle func(url string) bool
	// Published are the intents that the ledger knows, those under way without a record.
	Published []Publication
	// Backlog are the links, in their normal form, that each kind of channel's accounts had posted before they were
	// connected.
	Backlog map[string]bool
	// Accepted are the URLs, in their normal form, that an earlier audit was told to let be.
	Accepted map[string]bool
	// Calendar are the calendar's entries that can be published.
	Calendar []Intent
	Now      time.Time
}

// Audit compares the live site with the ledger and the calendar.
func Audit(f AuditFacts) (live int, findings []AuditFinding) {
	a := audit{AuditFacts: f, known: map[string]Publication{}, listed: map[string]map[string]int{}}
	for _, p := range f.Published {
		a.known[NormalURL(string(p.Intent.URL))] = p
	}
	a.read()
	for _, url := range a.live {
		a.announced(url)
		a.discovered(url)
	}
	a.ghosts()
	a.overdue()
	order := []AuditKind{Silent, Ghost, ListedTwice, Overdue, Unaudited}
	slices.SortStableFunc(a.findings, func(x, y AuditFinding) int {
		return cmp.Or(slices.Index(order, x.Kind)-slices.Index(order, y.Kind), cmp.Compare(x.URL, y.URL), cmp.Compare(x.Channel, y.Channel))
	})
	return len(a.live), a.findings
}

type audit struct {
	AuditFacts
	known    map[string]Publication
	listed   map[string]map[string]int // by surface: how often each URL, in its normal form
	live     []string                  // in their normal form, as the first surface lists them
	whole    bool                      // all of what is live was read
	findings []AuditFinding
}

func (a *audit) find(f AuditFinding) { a.findings = append(a.findings, f) }

// read takes in the surfaces.
func (a *audit) read() {
	for _, s := range a.Surfaces {
		if s.Problem != "" || !s.Whole {
			a.find(AuditFinding{
				Kind: Unaudited, URL: s.Surface, Detail: cmp.Or(s.Problem, "it is longer than what is read of it"),
				Next: "see to it that the surface can be read whole, and audit again",
			})
		}
		if s.Problem != "" {
			continue
		}
		count := map[string]int{}
		for _, u := range s.Entries {
			if a.IsArticle(u) {
				count[NormalURL(u)]++
			}
		}
		a.listed[s.Surface] = count
	}
	for _, surface := range AuditedSurfaces {
		if count, ok := a.listed[surface]; ok {
			for u := range count {
				a.live = append(a.live, u)
			}
			slices.Sort(a.live)
			for _, s := range a.Surfaces {
				a.whole = a.whole || s.Surface == surface && s.Whole && surface == "sitemap"
			}
			return
		}
	}
}

// announced checks that a live article was announced where it should be.
func (a *audit) announced(url string) {
	p, known := a.known[url]
	switch {
	case a.Accepted[url]:
	case !known && a.Backlog[url]:
	case !known:
		a.find(AuditFinding{
			Kind: Silent, URL: url, Detail: "it is live, and was announced nowhere that Colophon knows of",
			Next: "announce it by hand, or accept it: starter audit --accept",
		})
	case p.Record == nil: // under way, or overdue
	default:
		for _, d := range p.Record.Deliveries {
			if d.Outcome != Passed && !d.Skipped {
				a.find(AuditFinding{
					Kind: Silent, URL: url, Key: p.Intent.Key, Channel: d.Channel, Detail: cmp.Or(d.Detail, "the delivery did not pass"),
					Next: fmt.Sprintf("announce it there by hand, or accept it; its record: starter status %s", p.Intent.Key),
				})
			}
		}
	}
}

// discovered checks how surfaces list a live article.
func (a *audit) discovered(url string) {
	for _, s := range a.Surfaces {
		count, read := a.listed[s.Surface]
		if !read {
			continue
		}
		var variants []string
		for u := range count {
			if u != url && looseURL(u) == looseURL(url) {
				variants = append(variants, u)
			}
		}
		slices.Sort(variants)
		switch {
		case count[url] > 1:
			a.find(AuditFinding{Kind: ListedTwice, URL: url, Detail: fmt.Sprintf("the %s lists it %d times", s.Surface, count[url]), Next: "two sources have one URL, or a plug-in lists pages twice: look at the site's generator"})
		case count[url] == 1 && len(variants) > 0 && !slices.ContainsFunc(variants, func(v string) bool { return v < url && slices.Contains(a.live, v) }): // told once for all
			a.find(AuditFinding{Kind: ListedTwice, URL: url, Detail: fmt.Sprintf("the %s lists it also as %s", s.Surface, strings.Join(variants, ", ")), Next: "let one form of the URL lead to the other, and list that one"})
		}
	}
}

// ghosts checks that what was published is still live.
func (a *audit) ghosts() {
	if !a.whole { // a feed and an index show the newest alone
		return
	}
	for url, p := range a.known {
		if p.Record == nil || p.Record.Outcome != Passed || a.listed["sitemap"][url] > 0 {
			continue
		}
		a.find(AuditFinding{
			Kind: Ghost, URL: url, Key: p.Intent.Key, Detail: "it was published and announced, and the sitemap does not list it",
			Next: "if it was taken away on purpose, see to its announcements; else look at the site's deployment",
		})
	}
}

// overdue checks that what the calendar has due is published.
func (a *audit) overdue() {
	for _, in := range a.Calendar {
		p, known := a.known[NormalURL(string(in.URL))]
		if a.Now.Before(in.Due) || known && p.Record != nil {
			continue
		}
		f := AuditFinding{Kind: Overdue, URL: string(in.URL), Key: in.Key, Detail: fmt.Sprintf("its day, %s, has begun, and it was never started", in.Date), Next: fmt.Sprintf("starter publish %s", in.Key)}
		switch {
		case known:
			f.Detail, f.Next = fmt.Sprintf("its day, %s, has begun, and its run has not ended", in.Date), fmt.Sprintf("starter status %s", in.Key)
		case in.Approved == nil:
			f.Detail, f.Next = fmt.Sprintf("its day, %s, has begun, and nobody has approved it", in.Date), "approve it in the calendar, or move it to another day"
		}
		a.find(f)
	}
}
