package site

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"colophon/publish"

	"github.com/PuerkitoBio/goquery"
	"github.com/mmcdole/gofeed"
)

// ParsePage reads what a page says of itself. Base is the URL it was asked under; relative URLs resolve
// against it. A canonical link counts in the head or as a Link header, never in the body.
func ParsePage(base string, header http.Header, body []byte) publish.PageSeen {
	p := publish.PageSeen{ContentType: strings.ToLower(header.Get("Content-Type")), Canonicals: linkHeader(base, header.Values("Link"))}
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(body))
	if err != nil {
		return p
	}
	doc.Find("head link").Each(func(_ int, s *goquery.Selection) {
		if hasWord(s.AttrOr("rel", ""), "canonical") {
			p.Canonicals = append(p.Canonicals, resolve(base, s.AttrOr("href", "")))
		}
	})
	doc.Find("head meta").Each(func(_ int, s *goquery.Selection) {
		content := s.AttrOr("content", "")
		switch {
		case s.AttrOr("property", "") == "og:title":
			p.Titles = append(p.Titles, content)
		case s.AttrOr("property", "") == "article:published_time":
			p.Dates = append(p.Dates, content)
		case strings.EqualFold(s.AttrOr("http-equiv", ""), "refresh"):
			p.MetaRefresh = content
		}
	})
	p.Titles = append(p.Titles, strings.TrimSpace(doc.Find("head title").First().Text()), strings.TrimSpace(doc.Find("h1").First().Text()))
	doc.Find("time[datetime]").Each(func(_ int, s *goquery.Selection) { p.Dates = append(p.Dates, s.AttrOr("datetime", "")) })
	doc.Find(`script[type="application/ld+json"]`).Each(func(_ int, s *goquery.Selection) {
		var ld struct{ DatePublished string }
		if json.Unmarshal([]byte(s.Text()), &ld) == nil && ld.DatePublished != "" {
			p.Dates = append(p.Dates, ld.DatePublished)
		}
	})
	doc.Find("script, style, template, noscript").Remove()
	// Block elements end a word; inline ones, such as those that colour code, do not.
	doc.Find("p, li, h1, h2, h3, h4, h5, h6, div, blockquote, td, th, br, pre, dt, dd").AppendHtml(" ")
	p.Text = doc.Find("body").Text()
	return p
}

// linkHeader finds canonical targets in Link headers (RFC 8288).
func linkHeader(base string, values []string) []string {
	var out []string
	for _, v := range values {
		for _, link := range strings.Split(v, ",") {
			target, params, _ := strings.Cut(link, ";")
			target = strings.TrimSpace(target)
			for _, p := range strings.Split(params, ";") {
				name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
				if strings.EqualFold(name, "rel") && hasWord(strings.Trim(value, `"`), "canonical") && strings.HasPrefix(target, "<") {
					out = append(out, resolve(base, strings.Trim(target, "<>")))
				}
			}
		}
	}
	return out
}

func hasWord(s, word string) bool {
	for _, w := range strings.Fields(s) {
		if strings.EqualFold(w, word) {
			return true
		}
	}
	return false
}

func resolve(base, ref string) string {
	b, err := url.Parse(base)
	if err != nil {
		return ref
	}
	u, err := b.Parse(strings.TrimSpace(ref))
	if err != nil {
		return ref
	}
	return u.String()
}

// ParseIndex lists the pages that a blog's index links to. A card often links twice, with its picture and
// with its title: within one card a target counts once. Navigation does not count.
func ParseIndex(base string, body []byte) []string {
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(body))
	if err != nil {
		return nil
	}
	doc.Find("nav, header nav, footer, script, template").Remove()
	var out []string
	cards := doc.Find("article, li")
	cards.Each(func(_ int, card *goquery.Selection) {
		if card.Find("article, li").Length() == 0 {
			out = append(out, targets(base, card)...)
		}
	})
	cards.Remove()
	return append(out, targets(base, doc.Find("body"))...)
}

// targets are the distinct link targets within one element, without fragments.
func targets(base string, s *goquery.Selection) []string {
	seen := map[string]bool{}
	var out []string
	s.Find("a[href]").Each(func(_ int, a *goquery.Selection) {
		u, _, _ := strings.Cut(resolve(base, a.AttrOr("href", "")), "#")
		if strings.HasPrefix(u, "http") && !seen[u] {
			seen[u] = true
			out = append(out, u)
		}
	})
	return out
}

// ParseFeed lists the articles of a feed: RSS, Atom or JSON Feed. An item that has only a guid which is a
// URL is known by that.
func ParseFeed(base string, body []byte) ([]string, error) {
	feed, err := gofeed.NewParser().Parse(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("not a feed: %w", err)
	}
	var out []string
	for _, item := range feed.Items {
		link := item.Link
		if link == "" && strings.HasPrefix(item.GUID, "http") {
			link = item.GUID
		}
		if link != "" {
			out = append(out, resolve(base, link))
		}
	}
	return out, nil
}

// Sitemap limits. https://www.sitemaps.org/protocol.html
const maxURLs = 50_000

// Sitemap is one file: the pages it lists, or the files that an index names.
type Sitemap struct {
	URLs, Children []string
	Whole          bool // false when there was more than a file may hold
}

// ParseSitemap reads a sitemap or a sitemap index, gzipped or not, as a stream: each entry's loc, and
// nothing else, so that alternates in other languages do not count.
func ParseSitemap(r io.Reader) (Sitemap, error) {
	in := bufio.NewReader(r)
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return Sitemap{}, fmt.Errorf("not a sitemap: %w", err)
		}
		in = bufio.NewReader(z)
	}
	out := Sitemap{Whole: true}
	d := xml.NewDecoder(in)
	var path []string
	var loc strings.Builder
	root := ""
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) && root != "" {
			return out, nil
		}
		if err != nil {
			return Sitemap{}, fmt.Errorf("not a sitemap: %w", err)
		}
		switch t := tok.(type) {
		case xml.StartElement:
			if path = append(path, t.Name.Local); len(path) == 1 {
				root = t.Name.Local
			}
			loc.Reset()
			if root != "urlset" && root != "sitemapindex" {
				return Sitemap{}, fmt.Errorf("not a sitemap: its root is <%.40s>", root)
			}
		case xml.CharData:
			if len(path) == 3 && path[2] == "loc" {
				loc.Write(t)
			}
		case xml.EndElement:
			if len(path) == 3 && path[2] == "loc" {
				if len(out.URLs)+len(out.Children) >= maxURLs {
					out.Whole = false
					return out, nil
				}
				u := strings.TrimSpace(loc.String())
				if root == "urlset" {
					out.URLs = append(out.URLs, u)
				} else {
					out.Children = append(out.Children, u)
				}
			}
			path = path[:len(path)-1]
		}
	}
}
