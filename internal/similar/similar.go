// Package similar tells whether an article says what the site says already, by what it means rather than by its name:
// by the words that matter (TF-IDF cosine), by passages that stand in both (containment of runs of five words), and by
// the outline (shared headings).
//
// What is usual on a site is measured on its own pairs of articles. What articles of a site have in common, its
// boilerplate, counts for nothing. Articles that are declared to be one series may be alike.
//
// A translation, or a thorough rewording of a short text, is not found.
package similar

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
)

// Text is an article as it is compared: what readers read, without front matter, code and tables.
type Text struct {
	Title    string
	Series   string // articles of one series may be alike; none if empty
	Headings []string
	Passages []string // paragraphs, list items, quotes
}

// Version changes whenever signatures do.
const Version = 1

// Signature is what is kept of an article that others are compared with.
type Signature struct {
	Title    string         `json:"title"`
	Series   string         `json:"series,omitempty"`
	Terms    map[string]int `json:"terms"`    // how often each word stands in it
	Shingles []uint64       `json:"shingles"` // of each run of five words, sorted, each once
	Headings []string       `json:"headings"` // folded
}

// run is how many words a shingle has.
const run = 5

// Sign makes an article's signature.
func Sign(t Text) Signature {
	s := Signature{Title: t.Title, Series: t.Series, Terms: map[string]int{}}
	for _, part := range append([]string{t.Title}, t.Headings...) {
		for _, w := range words(part) {
			s.Terms[w.text]++
		}
	}
	for _, p := range t.Passages {
		all := words(p)
		for _, w := range all {
			s.Terms[w.text]++
		}
		s.Shingles = append(s.Shingles, shingles(all)...)
	}
	slices.Sort(s.Shingles)
	s.Shingles = slices.Compact(s.Shingles)
	for _, h := range t.Headings {
		if f := folded(h); f != "" && !slices.Contains(s.Headings, f) {
			s.Headings = append(s.Headings, f)
		}
	}
	return s
}

func folded(h string) string {
	var parts []string
	for _, w := range words(h) {
		parts = append(parts, w.text)
	}
	return strings.Join(parts, " ")
}

// shingles are the hashes of each run of five words; the n-th begins with the n-th word.
func shingles(all []word) (out []uint64) {
	for n := 0; n+run <= len(all); n++ {
		h := fnv.New64a()
		for _, w := range all[n : n+run] {
			_, _ = h.Write([]byte(w.text))
			_, _ = h.Write([]byte{0})
		}
		out = append(out, h.Sum64())
	}
	return out
}

// Article is one that the site has.
type Article struct {
	ID string // its path or URL
	Signature
}

// Site is what a draft is compared with.
type Site struct {
	articles []Article
	frequent int                  // what stands in more articles than that is boilerplate
	rarity   map[string]float64   // of a word, as idf
	postings map[string][]posting // where a word stands
	bounds   Bounds
	without  string // the ID of an article that is not compared with
}

type posting struct {
	article int
	weight  float64 // of the word in the article, whose weights' squares add up to 1
}

// New makes a site of its articles, and measures what is usual on it.
func New(articles []Article) *Site {
	s := &Site{articles: articles, frequent: max(3, len(articles)/20), rarity: map[string]float64{}, postings: map[string][]posting{}}
	counts := map[string]int{}
	for _, a := range articles {
		for w := range a.Terms {
			counts[w]++
		}
	}
	for w, n := range counts {
		s.rarity[w] = math.Log(float64(len(articles)+1) / float64(n+1))
	}
	for n, a := range articles {
		for w, weight := range s.weigh(a.Terms) {
			s.postings[w] = append(s.postings[w], posting{n, weight})
		}
	}
	s.bounds = s.measure()
	return s
}

// weigh weighs the words of an article.
func (s *Site) weigh(terms map[string]int) map[string]float64 {
	out, sum := make(map[string]float64, len(terms)), 0.0
	for w, n := range terms {
		rarity, known := s.rarity[w]
		if !known {
			rarity = math.Log(float64(len(s.articles) + 1))
		}
		weight := (1 + math.Log(float64(n))) * (rarity + 0.1) // on a site of few articles every word is frequent
		out[w] = weight
		sum += weight * weight
	}
	if sum > 0 {
		for w := range out {
			out[w] /= math.Sqrt(sum)
		}
	}
	return out
}

// cosines compares a text's words with those of every article: 0 is nothing in common, 1 the same.
func (s *Site) cosines(terms map[string]int) []float64 {
	out := make([]float64, len(s.articles))
	for w, weight := range s.weigh(terms) {
		for _, p := range s.postings[w] {
			out[p.article] += weight * p.weight
		}
	}
	return out
}

// Cosines compares a signature's words with those of every article, in the articles' order.
func (s *Site) Cosines(g Signature) []float64 { return s.cosines(g.Terms) }

// Without is the site without one article; what is usual on it stays as measured.
func (s *Site) Without(id string) *Site {
	n := slices.IndexFunc(s.articles, func(a Article) bool { return a.ID == id })
	if n < 0 {
		return s
	}
	less := *s
	less.without = id
	return &less
}

// Bounds are from where on a likeness is looked at, or is a copy.
type Bounds struct {
	Review float64 `json:"review"` // cosine
	Copy   float64 `json:"copy"`   // cosine
	Pairs  int     `json:"pairs"`  // of the site's own articles, on which they were measured; 0 if there are too few
}

// few is how many articles a site must have for what is usual on it to be measured; sampled is how many are compared.
const (
	few     = 20
	sampled = 1000
)

// The bounds of a site with few articles, and the limits of what a measurement may make of them.
const (
	usualReview, leastReview, mostReview = 0.40, 0.35, 0.60
	usualCopy, leastCopy                 = 0.85, 0.80
)

// measure takes the bounds from the site's own pairs, those of declared series left out: twice as alike as all but the
// most alike hundredth are is more than usual. The hundredth leaves room for series that nobody has declared.
func (s *Site) measure() Bounds {
	b := Bounds{Review: usualReview, Copy: usualCopy}
	if len(s.articles) < few {
		return b
	}
	step := max(1, len(s.articles)/sampled)
	var pairs []float64
	for n := 0; n < len(s.articles); n += step {
		all := s.cosines(s.articles[n].Terms)
		for m := 0; m < n; m += step {
			if !sameSeries(s.articles[n].Series, s.articles[m].Series) {
				pairs = append(pairs, all[m])
			}
		}
	}
	slices.Sort(pairs)
	b.Pairs = len(pairs)
	if len(pairs) > 0 {
		b.Review = min(max(2*pairs[(len(pairs)-1)*99/100], leastReview), mostReview)
	}
	b.Copy = max(leastCopy, (1+b.Review)/2)
	return b
}

// Bounds answers what the site's own articles gave.
func (s *Site) Bounds() Bounds { return s.bounds }

func sameSeries(a, b string) bool { return a != "" && a == b }

// Verdict is what is to be done about a likeness.
type Verdict string

// The verdicts, from harmless to not.
const (
	Clear  Verdict = "clear"
	Review Verdict = "review" // a person looks
	Copy   Verdict = "copy"
)

// Likeness is how a draft is like one article.
type Likeness struct {
	ID       string   `json:"id"`
	Title    string   `json:"title"`
	Verdict  Verdict  `json:"verdict"`
	Why      string   `json:"why"`      // in words, for a person
	Cosine   float64  `json:"cosine"`   // of the words that matter, 0 to 1
	Contains float64  `json:"contains"` // share of the draft's runs of five words that stand in the article, 0 to 1
	Outline  float64  `json:"outline"`  // share of the draft's headings that the article has, 0 to 1
	Series   bool     `json:"series"`   // both are declared to be of one series
	Quotes   []string `json:"quotes,omitempty"`
}

// Judgement is how a draft is like the site's articles.
type Judgement struct {
	Verdict Verdict    `json:"verdict"`
	Bounds  Bounds     `json:"bounds"`
	Closest []Likeness `json:"closest"` // the most alike first, at most five
}

// The bounds of the other two measures. Five words in a row are rarely the same by chance: a twentieth of a text is some
// sentences.
const (
	someCopied, muchCopied = 0.10, 0.40
	sameOutline            = 0.60
	leastHeadings          = 3
	closest                = 5
)

// Judge compares a draft with every article of the site.
func (s *Site) Judge(t Text) Judgement {
	draft := Sign(t)
	cosines := s.cosines(draft.Terms)
	contained, shared := s.contained(draft.Shingles)
	outlines := s.outlines(draft.Headings)
	out := Judgement{Verdict: Clear, Bounds: s.bounds}
	for n, a := range s.articles {
		if a.ID == s.without && a.ID != "" {
			continue
		}
		l := Likeness{ID: a.ID, Title: a.Title, Cosine: cosines[n], Contains: contained[n], Outline: outlines[n], Series: sameSeries(draft.Series, a.Series)}
		l.Verdict, l.Why = s.judge(l)
		out.Closest = append(out.Closest, l)
	}
	slices.SortStableFunc(out.Closest, func(a, b Likeness) int {
		return cmp.Or(rank(b.Verdict)-rank(a.Verdict), cmp.Compare(b.Cosine+b.Contains, a.Cosine+a.Contains))
	})
	out.Closest = out.Closest[:min(len(out.Closest), closest)]
	for n := range out.Closest {
		l := &out.Closest[n]
		if l.Verdict != Clear {
			l.Quotes = quotes(t, shared(l.ID))
		}
		if rank(l.Verdict) > rank(out.Verdict) {
			out.Verdict = l.Verdict
		}
	}
	return out
}

func rank(v Verdict) int { return slices.Index([]Verdict{Clear, Review, Copy}, v) }

// judge says what one likeness is, and why.
func (s *Site) judge(l Likeness) (Verdict, string) {
	switch {
	case l.Series:
		return Clear, "of the same series"
	case l.Contains >= muchCopied:
		return Copy, fmt.Sprintf("%.0f %% of its passages stand there already", 100*l.Contains)
	case l.Cosine >= s.bounds.Copy:
		return Copy, fmt.Sprintf("its words are those of that article (%.2f; %.2f is a copy)", l.Cosine, s.bounds.Copy)
	case l.Contains >= someCopied, l.Contains >= someCopied/2 && l.Cosine >= s.bounds.Review*0.7:
		return Review, fmt.Sprintf("%.0f %% of its passages stand there already", 100*l.Contains)
	case l.Cosine >= s.bounds.Review:
		return Review, fmt.Sprintf("more alike than articles of this site are (%.2f; usual is less than %.2f)", l.Cosine, s.bounds.Review)
	case l.Outline >= sameOutline:
		return Review, fmt.Sprintf("%.0f %% of its headings are those of that article", 100*l.Outline)
	}
	return Clear, "no more alike than articles of this site are"
}

// contained answers which share of a draft's shingles stands in each article, boilerplate left out, and for an
// article's ID those that do.
func (s *Site) contained(draft []uint64) (shares []float64, shared func(id string) map[uint64]bool) {
	common := make([][]int, len(s.articles)) // by article, indices of the draft's shingles
	counts := make([]int, len(draft))
	for n, a := range s.articles {
		for i, j := 0, 0; i < len(draft) && j < len(a.Shingles); {
			switch {
			case draft[i] < a.Shingles[j]:
				i++
			case draft[i] > a.Shingles[j]:
				j++
			default:
				common[n] = append(common[n], i)
				counts[i]++
				i, j = i+1, j+1
			}
		}
	}
	own := 0
	for _, n := range counts {
		if n <= s.frequent {
			own++
		}
	}
	shares = make([]float64, len(s.articles))
	for n := range s.articles {
		for _, i := range common[n] {
			if counts[i] <= s.frequent {
				shares[n] += 1 / float64(own)
			}
		}
	}
	return shares, func(id string) map[uint64]bool {
		out := map[uint64]bool{}
		n := slices.IndexFunc(s.articles, func(a Article) bool { return a.ID == id })
		for _, i := range common[n] {
			if counts[i] <= s.frequent {
				out[draft[i]] = true
			}
		}
		return out
	}
}

// outlines answers which share of a draft's headings each article has, those that many have left out.
func (s *Site) outlines(draft []string) []float64 {
	counts := map[string]int{}
	for _, a := range s.articles {
		for _, h := range a.Headings {
			counts[h]++
		}
	}
	own := slices.DeleteFunc(slices.Clone(draft), func(h string) bool { return counts[h] > s.frequent })
	out := make([]float64, len(s.articles))
	if len(own) < leastHeadings {
		return out
	}
	for n, a := range s.articles {
		for _, h := range own {
			if slices.Contains(a.Headings, h) {
				out[n] += 1 / float64(len(own))
			}
		}
	}
	return out
}

// How much is quoted.
const (
	mostQuotes = 3
	longest    = 240 // bytes of one quote
)

// quotes answers the longest passages of a text that are shared, as the text has them.
func quotes(t Text, shared map[uint64]bool) []string {
	var all []string
	for _, p := range t.Passages {
		ws := words(p)
		hashes := shingles(ws)
		for n := 0; n < len(hashes); n++ {
			first := n
			for n < len(hashes) && shared[hashes[n]] {
				n++
			}
			if n > first {
				all = append(all, clip(p[ws[first].from:ws[n+run-2].to]))
			}
		}
	}
	slices.SortStableFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all[:min(len(all), mostQuotes)]
}

func clip(s string) string {
	if len(s) <= longest {
		return s
	}
	return strings.ToValidUTF8(s[:longest], "") + "…"
}
