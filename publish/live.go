package publish

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Expected is what production should show of an article.
type Expected struct {
	URL    CanonicalURL
	Title  string
	Date   Date
	Blocks []string // the article's visible text, a paragraph, heading or list item each
}

// PageSeen is what one look saw at the article's URL. URLs are absolute.
type PageSeen struct {
	Status      int
	Location    string // where a redirect leads
	ContentType string
	Canonicals  []string // from the head and the Link header
	Titles      []string // title, first heading, og:title
	Dates       []string // machine-readable dates, as written
	Text        string   // the visible text of the article
	MetaRefresh string   // where a refresh in the page leads
	SoftMissing bool     // a page that cannot exist answers 200 too, so that the status proves nothing
	Cache       string   // the headers that say how old the answer may be
}

// ListingSeen is what one look saw of a page that lists articles.
type ListingSeen struct {
	Surface string   // "index", "sitemap", "feed"
	Entries []string // absolute URLs, as often as they are listed
	Problem string   // why it could not be read, "" if it could
	Gone    bool     // because there is none
	Whole   bool     // false when a limit ended the reading
}

// Verdict is what a look at one surface amounts to.
type Verdict string

// The verdicts. The first is good; those up to Unreadable may be mended by waiting.
const (
	IsLive         Verdict = "live"
	Missing        Verdict = "missing"
	Stale          Verdict = "stale" // another state of the article, or of the site before it
	Unreadable     Verdict = "unreadable"
	WrongForm      Verdict = "wrong_form" // the URL leads elsewhere
	SoftMissing    Verdict = "soft_404"
	OtherArticle   Verdict = "other_article"
	WrongCanonical Verdict = "wrong_canonical"
	WrongDate      Verdict = "wrong_date"
	Duplicate      Verdict = "duplicate"
	Variant        Verdict = "variant"
	NotWhole       Verdict = "incomplete"
)

// Judgement is a verdict on one surface, with what it rests on.
type Judgement struct {
	Surface string  `json:"surface"`
	Verdict Verdict `json:"verdict"`
	Detail  string  `json:"detail,omitempty"`
}

// Live sums up: ok when every surface is live; hopeless when one shows what waiting cannot mend.
func Live(js []Judgement) (ok, hopeless bool, summary string) {
	ok = len(js) > 0
	var parts []string
	for _, j := range js {
		switch j.Verdict {
		case IsLive:
			continue
		case Missing, Stale, Unreadable, WrongForm, SoftMissing, OtherArticle, WrongCanonical, WrongDate:
			// A site in the middle of a deployment shows any of these for a while.
		default:
			hopeless = true
		}
		ok = false
		parts = append(parts, strings.TrimSuffix(fmt.Sprintf("%s is %s: %s", j.Surface, j.Verdict, j.Detail), ": "))
	}
	return ok, hopeless, strings.Join(parts, "; ")
}

// JudgePage decides whether the page is the expected article.
func JudgePage(e Expected, p PageSeen) Judgement {
	v, detail := judgePage(e, p)
	if p.Cache != "" && v != IsLive {
		detail += " (" + p.Cache + ")"
	}
	return Judgement{Surface: "page", Verdict: v, Detail: Clip(detail)}
}

func judgePage(e Expected, p PageSeen) (Verdict, string) {
	switch {
	case p.Status == 0:
		return Unreadable, "no answer"
	case p.Status >= 300 && p.Status < 400:
		return WrongForm, fmt.Sprintf("%d to %s", p.Status, p.Location)
	case p.Status == 404 || p.Status == 410:
		return Missing, fmt.Sprintf("status %d", p.Status)
	case p.Status != 200:
		return Unreadable, fmt.Sprintf("status %d", p.Status)
	case !strings.HasPrefix(p.ContentType, "text/html") && !strings.HasPrefix(p.ContentType, "application/xhtml+xml"):
		return Unreadable, fmt.Sprintf("%q is no web page", p.ContentType)
	case p.MetaRefresh != "":
		return WrongForm, "a refresh leads to " + p.MetaRefresh
	}
	titled := slices.ContainsFunc(p.Titles, func(t string) bool { return holdsTitle(t, e.Title) })
	found, first := blocksIn(e.Blocks, p.Text)
	switch {
	case !titled && found == 0 && p.SoftMissing:
		return SoftMissing, "the site answers 200 for pages that do not exist"
	case !titled && found*2 < len(e.Blocks):
		return OtherArticle, fmt.Sprintf("titled %q", strings.Join(p.Titles, `", "`))
	case !titled:
		return Stale, fmt.Sprintf("titled %q, want %q", strings.Join(p.Titles, `", "`), e.Title)
	case found < len(e.Blocks):
		return Stale, fmt.Sprintf("%d of %d passages are there; missing: %.80q", found, len(e.Blocks), first)
	}
	switch canonicals := distinct(p.Canonicals); {
	case len(p.Canonicals) == 0:
		return WrongCanonical, "no canonical link"
	case len(p.Canonicals) > 1 && len(canonicals) > 1:
		return WrongCanonical, fmt.Sprintf("%d canonical links: %s", len(p.Canonicals), strings.Join(canonicals, ", "))
	case NormalURL(canonicals[0]) != NormalURL(string(e.URL)):
		return WrongCanonical, "canonical is " + canonicals[0]
	}
	if !slices.ContainsFunc(p.Dates, func(d string) bool { return strings.HasPrefix(d, string(e.Date)) }) {
		return WrongDate, fmt.Sprintf("dated %q, want %s", strings.Join(p.Dates, `", "`), e.Date)
	}
	return IsLive, ""
}

// holdsTitle says whether a page's title is the article's, maybe with the site's name beside it.
func holdsTitle(page, title string) bool {
	p, t := strings.Join(words(page), " "), strings.Join(words(title), " ")
	return t != "" && (p == t || strings.HasPrefix(p, t+" ") || strings.HasSuffix(p, " "+t))
}

// blocksIn counts the blocks whose words stand in the text, in order, and names the first that does not.
func blocksIn(blocks []string, text string) (found int, missing string) {
	all := " " + strings.Join(words(text), " ") + " "
	at := 0
	for _, b := range blocks {
		w := words(b)
		n := strings.Index(all[at:], " "+strings.Join(w, " ")+" ")
		switch {
		case len(w) == 0:
			found++
		case n >= 0:
			found++
			at += n + len(strings.Join(w, " "))
		case missing == "":
			missing = b
		}
	}
	return found, missing
}

// words are the letters and digits of a text, in lower case: what typography does not change.
func words(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) })
}

func distinct(urls []string) []string {
	var out []string
	for _, u := range urls {
		if !slices.Contains(out, u) {
			out = append(out, u)
		}
	}
	return out
}

// JudgeListing decides whether a listing holds the article's URL exactly once, and no variant of it.
func JudgeListing(e Expected, l ListingSeen) Judgement {
	j := judgeListing(e, l)
	j.Detail = Clip(j.Detail)
	return j
}

func judgeListing(e Expected, l ListingSeen) Judgement {
	j := Judgement{Surface: l.Surface, Verdict: IsLive}
	if l.Problem != "" {
		j.Verdict, j.Detail = Unreadable, l.Problem
		return j
	}
	want, count := NormalURL(string(e.URL)), 0
	var variants []string
	for _, u := range l.Entries {
		switch {
		case NormalURL(u) == want:
			count++
		case looseURL(u) == looseURL(string(e.URL)):
			variants = append(variants, u)
		}
	}
	switch {
	case count > 1:
		j.Verdict, j.Detail = Duplicate, fmt.Sprintf("listed %d times", count)
	case len(variants) > 0:
		j.Verdict, j.Detail = Variant, "also listed as "+strings.Join(variants, ", ")
	case count == 0 && !l.Whole:
		j.Verdict, j.Detail = NotWhole, "not found in the part that was read"
	case count == 0:
		j.Verdict, j.Detail = Missing, fmt.Sprintf("not among %d entries", len(l.Entries))
	}
	return j
}
