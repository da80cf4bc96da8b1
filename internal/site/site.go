// Package site looks at production: the article's page, the blog's index, the sitemap and the feed. It
// fetches and parses; package publish judges what was seen.
package site

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"colophon/publish"

	"golang.org/x/text/unicode/norm"
)

// Options say where the site lists its articles; an empty URL is not looked at.
type Options struct {
	Index, Sitemap, Feed string
}

// Site is the site to look at.
type Site struct {
	client  *http.Client
	options Options
}

// New looks through client, which must not follow redirects.
func New(client *http.Client, o Options) *Site { return &Site{client: client, options: o} }

// maxSitemaps is how many files of a sitemap index are read.
const maxSitemaps = 20

// Look makes one look at everything. What cannot be read is judged unreadable; the error is for a context
// that has ended.
func (s *Site) Look(ctx context.Context, e publish.Expected) ([]publish.Judgement, []publish.Evidence, error) {
	page, note := s.page(ctx, string(e.URL))
	judgements := []publish.Judgement{publish.JudgePage(e, page)}
	evidence := []publish.Evidence{{At: time.Now().UTC(), Look: "GET " + string(e.URL), Saw: publish.Clip(note)}}
	for _, l := range s.surfaces("index", "sitemap", "feed") {
		seen := l.see(ctx)
		j := publish.JudgeListing(e, seen)
		judgements = append(judgements, j)
		evidence = append(evidence, publish.Evidence{At: time.Now().UTC(), Look: "GET " + l.url, Saw: strings.TrimSuffix(fmt.Sprintf("%s, %d entries: %s", j.Verdict, len(seen.Entries), j.Detail), ": ")})
	}
	return judgements, evidence, ctx.Err()
}

// surface is a page that lists articles.
type surface struct {
	name, url string
	read      func(context.Context, string) publish.ListingSeen
}

// surfaces are those by their names that the site has.
func (s *Site) surfaces(names ...string) (out []surface) {
	all := map[string]surface{"index": {"index", s.options.Index, s.index}, "sitemap": {"sitemap", s.options.Sitemap, s.sitemap}, "feed": {"feed", s.options.Feed, s.feed}}
	for _, name := range names {
		if l := all[name]; l.url != "" {
			out = append(out, l)
		}
	}
	return out
}

func (l surface) see(ctx context.Context) publish.ListingSeen {
	seen := l.read(ctx, l.url)
	seen.Surface = l.name
	for n, u := range seen.Entries {
		seen.Entries[n] = norm.NFC.String(u)
	}
	return seen
}

// Listings reads every surface that lists articles.
func (s *Site) Listings(ctx context.Context) (out []publish.ListingSeen, err error) {
	for _, l := range s.surfaces(publish.AuditedSurfaces...) {
		out = append(out, l.see(ctx))
	}
	return out, ctx.Err()
}

// Serves says whether production serves something at a URL that is to be published: the article itself, another, or,
// as Missing, nothing. The page is asked for only where the site lists it, or a variant of it: some caches would keep
// the 404 until after the deployment. A site that is not there yet serves nothing.
func (s *Site) Serves(ctx context.Context, e publish.Expected) (publish.Judgement, []publish.Evidence, error) {
	all := s.surfaces(publish.AuditedSurfaces...)
	if len(all) == 0 {
		return publish.Judgement{Verdict: publish.Missing}, nil, nil
	}
	seen := all[0].see(ctx)
	j := publish.JudgeListing(e, seen)
	evidence := []publish.Evidence{{At: time.Now().UTC(), Look: "GET " + all[0].url, Saw: strings.TrimSuffix(fmt.Sprintf("%s: %s", j.Verdict, j.Detail), ": ")}}
	switch {
	case seen.Gone || j.Verdict == publish.Missing || j.Verdict == publish.NotWhole:
		return publish.Judgement{Surface: seen.Surface, Verdict: publish.Missing}, evidence, nil
	case j.Verdict == publish.Unreadable:
		return j, evidence, fmt.Errorf("%s cannot be read: %s", all[0].url, seen.Problem)
	}
	page, note := s.page(ctx, string(e.URL))
	evidence = append(evidence, publish.Evidence{At: time.Now().UTC(), Look: "GET " + string(e.URL), Saw: publish.Clip(note)})
	if page.Status == http.StatusNotFound || page.Status == http.StatusGone {
		return publish.Judgement{Surface: "page", Verdict: publish.Missing}, evidence, nil
	}
	return publish.JudgePage(e, page), evidence, ctx.Err()
}

// page looks at the article, and, where it answers at all, at a page that cannot exist.
func (s *Site) page(ctx context.Context, u string) (publish.PageSeen, string) {
	resp, body, err := s.get(ctx, u)
	if err != nil {
		return publish.PageSeen{}, problem(err)
	}
	p := ParsePage(u, resp.Header, body)
	p.Status, p.Cache = resp.StatusCode, cache(resp.Header)
	p.Text = norm.NFC.String(p.Text)
	if loc := resp.Header.Get("Location"); loc != "" {
		p.Location = resolve(u, loc)
	}
	if p.Status == http.StatusOK {
		probe, _, err := s.get(ctx, nowhere(u))
		p.SoftMissing = err == nil && probe.StatusCode == http.StatusOK
	}
	return p, strings.TrimSpace(fmt.Sprintf("%d, %d bytes %s", p.Status, len(body), p.Cache))
}

// nowhere is a sibling of a page that no site has.
func nowhere(u string) string {
	sum := sha256.Sum256([]byte(u + time.Now().String()))
	base := u[:strings.LastIndexByte(strings.TrimSuffix(u, "/"), '/')+1]
	return fmt.Sprintf("%scolophon-%x/", base, sum[:8])
}

func cache(h http.Header) string {
	var parts []string
	for _, name := range []string{"Age", "Cache-Control", "X-Cache", "Etag"} {
		if v := h.Get(name); v != "" {
			parts = append(parts, name+": "+v)
		}
	}
	return strings.Join(parts, ", ")
}

func (s *Site) index(ctx context.Context, u string) publish.ListingSeen {
	return s.listing(ctx, u, func(body []byte) ([]string, error) { return ParseIndex(u, body), nil })
}

func (s *Site) feed(ctx context.Context, u string) publish.ListingSeen {
	return s.listing(ctx, u, func(body []byte) ([]string, error) { return ParseFeed(u, body) })
}

func (s *Site) listing(ctx context.Context, u string, parse func([]byte) ([]string, error)) publish.ListingSeen {
	resp, body, err := s.get(ctx, u)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = statusError(resp.StatusCode)
	}
	if err != nil {
		return publish.ListingSeen{Problem: problem(err), Gone: gone(err)}
	}
	entries, err := parse(body)
	if err != nil {
		return publish.ListingSeen{Problem: problem(err)}
	}
	return publish.ListingSeen{Entries: entries, Whole: true}
}

// sitemap reads a sitemap and, one level deep, what a sitemap index names.
func (s *Site) sitemap(ctx context.Context, u string) publish.ListingSeen {
	first, err := s.sitemapFile(ctx, u)
	if err != nil {
		return publish.ListingSeen{Problem: problem(err), Gone: gone(err)}
	}
	out := publish.ListingSeen{Entries: first.URLs, Whole: first.Whole && len(first.Children) <= maxSitemaps}
	for _, child := range first.Children[:min(len(first.Children), maxSitemaps)] {
		file, err := s.sitemapFile(ctx, resolve(u, child))
		if err != nil {
			return publish.ListingSeen{Problem: child + ": " + problem(err)}
		}
		out.Entries = append(out.Entries, file.URLs...)
		out.Whole = out.Whole && file.Whole && len(file.Children) == 0
	}
	return out
}

func (s *Site) sitemapFile(ctx context.Context, u string) (Sitemap, error) {
	resp, body, err := s.get(ctx, u)
	if err != nil {
		return Sitemap{}, err
	}
	if resp.StatusCode != http.StatusOK {
		return Sitemap{}, statusError(resp.StatusCode)
	}
	return ParseSitemap(bytes.NewReader(body))
}

// get asks for a URL as it is, past caches that are willing.
func (s *Site) get(ctx context.Context, u string) (*http.Response, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Cache-Control", "no-cache")
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp, body, err
}

// statusError is an answer that is no page.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("status %d", int(e)) }

// gone says that the server knows of no such page.
func gone(err error) bool {
	e, ok := errors.AsType[statusError](err)
	return ok && (e == http.StatusNotFound || e == http.StatusGone)
}

// problem is an error in a few words.
func problem(err error) string {
	if t, ok := errors.AsType[*publish.Trouble](err); ok {
		return t.Detail
	}
	return err.Error()
}
