package publish

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

var expected = Expected{
	URL: "https://example.org/posts/a/", Title: "Look – then act", Date: "2026-10-04",
	Blocks: []string{"First, look.", "Then “act”.", "Look again"},
}

func page() PageSeen {
	return PageSeen{
		Status: 200, ContentType: "text/html; charset=utf-8", Canonicals: []string{"https://EXAMPLE.org:443/posts/a/"},
		Titles: []string{"Look - then act | The Example"}, Dates: []string{"2026-10-04T00:00:00Z"},
		Text: "Menu. First, look. Then \"act\". And more. Look again! Footer",
	}
}

func TestPageIsJudged(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*PageSeen)
		want   Verdict
	}{
		"the article":       {func(*PageSeen) {}, IsLive},
		"not there":         {func(p *PageSeen) { p.Status = 404 }, Missing},
		"gone":              {func(p *PageSeen) { p.Status = 410 }, Missing},
		"server error":      {func(p *PageSeen) { p.Status = 503 }, Unreadable},
		"no answer":         {func(p *PageSeen) { *p = PageSeen{} }, Unreadable},
		"redirect":          {func(p *PageSeen) { p.Status, p.Location = 301, "https://example.org/posts/a" }, WrongForm},
		"meta refresh":      {func(p *PageSeen) { p.MetaRefresh = "/elsewhere" }, WrongForm},
		"a download":        {func(p *PageSeen) { p.ContentType = "application/pdf" }, Unreadable},
		"soft 404":          {func(p *PageSeen) { p.Titles, p.Text, p.SoftMissing = []string{"Oops"}, "Nothing here", true }, SoftMissing},
		"another article":   {func(p *PageSeen) { p.Titles, p.Text = []string{"Cooking"}, "Boil water." }, OtherArticle},
		"previous content":  {func(p *PageSeen) { p.Text = "First, look. Then think." }, Stale},
		"words out of line": {func(p *PageSeen) { p.Text = "Look again. Then act. First, look." }, Stale},
		"old title":         {func(p *PageSeen) { p.Titles = []string{"Draft"} }, Stale},
		"no canonical":      {func(p *PageSeen) { p.Canonicals = nil }, WrongCanonical},
		"two canonicals":    {func(p *PageSeen) { p.Canonicals = append(p.Canonicals, "https://example.org/b/") }, WrongCanonical},
		"other canonical":   {func(p *PageSeen) { p.Canonicals = []string{"https://example.org/posts/a"} }, WrongCanonical},
		"another day":       {func(p *PageSeen) { p.Dates = []string{"2026-10-03"} }, WrongDate},
	} {
		p := page()
		c.change(&p)
		if got := JudgePage(expected, p); got.Verdict != c.want {
			t.Errorf("%s: %s (%s), want %s", name, got.Verdict, got.Detail, c.want)
		}
	}
}

func TestListingIsCountedAndVariantsAreNotMerged(t *testing.T) {
	for name, c := range map[string]struct {
		entries []string
		want    Verdict
	}{
		"once":           {[]string{"https://example.org/", "https://example.org/posts/a/"}, IsLive},
		"other spelling": {[]string{"HTTPS://Example.org:443/posts/%61/"}, IsLive},
		"twice":          {[]string{"https://example.org/posts/a/", "https://example.org/posts/a/"}, Duplicate},
		"never":          {[]string{"https://example.org/posts/ab/"}, Missing},
		"no slash":       {[]string{"https://example.org/posts/a/", "https://example.org/posts/a"}, Variant},
		"html":           {[]string{"https://example.org/posts/a.html"}, Variant},
		"index.html":     {[]string{"https://example.org/posts/a/index.html"}, Variant},
		"http":           {[]string{"http://example.org/posts/a/"}, Variant},
		"www":            {[]string{"https://www.example.org/posts/a/"}, Variant},
		"query":          {[]string{"https://example.org/posts/a/?utm=1"}, Variant},
	} {
		got := JudgeListing(expected, ListingSeen{Surface: "sitemap", Entries: c.entries, Whole: true})
		if got.Verdict != c.want {
			t.Errorf("%s: %s (%s), want %s", name, got.Verdict, got.Detail, c.want)
		}
	}
	if got := JudgeListing(expected, ListingSeen{Whole: false}); got.Verdict != NotWhole {
		t.Errorf("a listing that was not read whole: %s", got.Verdict)
	}
}

func TestWaitingIsForWhatItCanMend(t *testing.T) {
	for v, hopeless := range map[Verdict]bool{IsLive: false, Missing: false, Stale: false, Unreadable: false, Duplicate: true, Variant: true} {
		ok, h, summary := Live([]Judgement{{Surface: "page", Verdict: IsLive}, {Surface: "feed", Verdict: v, Detail: "why"}})
		if ok != (v == IsLive) || h != hopeless || v != IsLive && !strings.Contains(summary, "feed is "+string(v)) {
			t.Errorf("%s: ok %v, hopeless %v, %q", v, ok, h, summary)
		}
	}
	if ok, _, _ := Live(nil); ok {
		t.Error("nothing seen is live")
	}
}

func FuzzNormalURL(f *testing.F) {
	f.Add("HTTPS://Example.org:443/a/../b/%7euser/?q=1#x")
	f.Add("http://[::1]:80/%2F%zz")
	f.Fuzz(func(t *testing.T, s string) {
		n := NormalURL(s)
		if NormalURL(n) != n {
			t.Fatalf("%q: %q, then %q", s, n, NormalURL(n))
		}
	})
}

func TestWhatARemoteSaysIsCutShort(t *testing.T) {
	long := strings.Repeat("é", 1<<20)
	p := page()
	p.Titles, p.Dates, p.Location, p.Cache = []string{long}, []string{long}, long, long
	entries := []string{"https://example.org/posts/a/?" + long}
	_, _, summary := Live([]Judgement{JudgePage(expected, p), JudgeListing(expected, ListingSeen{Entries: entries}), JudgeListing(expected, ListingSeen{Problem: long})})
	said := (&Trouble{Detail: long, Err: errors.New(long)}).Error()
	for _, s := range []string{summary, said} {
		if len(s) > 4000 || !utf8.ValidString(s) {
			t.Errorf("%d bytes, valid %v", len(s), utf8.ValidString(s))
		}
	}
}
