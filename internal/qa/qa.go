// Package qa checks a draft before it is kept: what can be told from the text alone, and what other programs say of it.
package qa

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"colophon/internal/article"
	"colophon/publish"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// Rules are what a site asks of its articles. Structure, links and alternative texts are always looked at.
type Rules struct {
	Required  []string   // front matter that must be there
	MinWords  int        // of the visible text; no bound if 0
	MaxWords  int        // likewise
	Forbidden []string   // phrases that may not stand in the visible text or the title, in any case
	Checkers  [][]string // commands, each with its arguments, that get the draft and answer with their exit code
}

// Check says what is wrong with a draft, all at once, in the order of lines. An error says that a checker could not be
// asked.
func (r Rules) Check(ctx context.Context, name string, source []byte) ([]publish.Fault, error) {
	a, err := article.Parse(name, source)
	if err != nil {
		return nil, err
	}
	c := &check{Rules: r, a: a, body: []byte(a.Body)}
	c.frontMatter()
	c.structure()
	c.wording()
	for _, command := range r.Checkers {
		faults, err := ask(ctx, command, name, source)
		if err != nil {
			return nil, err
		}
		c.faults = append(c.faults, faults...)
	}
	slices.SortStableFunc(c.faults, func(x, y publish.Fault) int { return cmp.Compare(x.Line, y.Line) })
	return c.faults, nil
}

type check struct {
	Rules
	a      article.Article
	body   []byte
	faults []publish.Fault
}

func (c *check) find(line int, rule, format string, args ...any) {
	c.faults = append(c.faults, publish.Fault{Line: line, Rule: rule, Detail: publish.Clip(fmt.Sprintf(format, args...))})
}

// line is the line in the draft of a place in its body.
func (c *check) line(offset int) int {
	return c.a.BodyLine + strings.Count(c.a.Body[:max(0, min(offset, len(c.a.Body)))], "\n")
}

func (c *check) frontMatter() {
	for _, key := range c.Required {
		if !slices.Contains(c.a.Keys, key) {
			c.find(1, "front_matter", "%s is missing", key)
		}
	}
}

// structure looks at headings, links and pictures.
func (c *check) structure() {
	doc := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(c.body))
	level, at := 1, 0
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		if n.Type() == ast.TypeBlock && n.Lines() != nil && n.Lines().Len() > 0 {
			at = n.Lines().At(0).Start
		}
		if t, ok := n.(*ast.Text); ok {
			at = t.Segment.Start
		}
		switch n := n.(type) {
		case *ast.Heading:
			c.heading(n, level, at)
			level = n.Level
		case *ast.Link:
			c.link(string(n.Destination), c.line(first(n, at)))
		case *ast.AutoLink:
			c.link(string(n.URL(c.body)), c.line(at))
		case *ast.Image:
			c.link(string(n.Destination), c.line(first(n, at)))
			if strings.TrimSpace(plain(n, c.body)) == "" {
				c.find(c.line(first(n, at)), "alt_text", "the picture %s has no alternative text", n.Destination)
			}
		}
		return ast.WalkContinue, nil
	})
}

// first is where the first text in a node stands; a place before it, if it has none.
func first(n ast.Node, before int) int {
	at := before
	_ = ast.Walk(n, func(c ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := c.(*ast.Text); ok && entering {
			at = t.Segment.Start
			return ast.WalkStop, nil
		}
		return ast.WalkContinue, nil
	})
	return at
}

func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(c ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := c.(*ast.Text); ok && entering {
			b.Write(t.Segment.Value(source))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

func (c *check) heading(h *ast.Heading, before, at int) {
	words := strings.TrimSpace(plain(h, c.body))
	switch {
	case words == "" && h.ChildCount() == 0:
		c.find(c.line(at), "headings", "a heading is empty")
	case h.Level == 1:
		c.find(c.line(at), "title", "%q is a second title: the first is in the front matter; begin with ##", words)
	case h.Level > before+1:
		c.find(c.line(at), "headings", "%q is of level %d, after one of level %d", words, h.Level, before)
	}
}

// link looks at a destination as it is written.
func (c *check) link(to string, line int) {
	u, err := url.Parse(strings.TrimSpace(to))
	switch {
	case to == "":
		c.find(line, "links", "a link leads nowhere")
	case err != nil:
		c.find(line, "links", "%q is no URL", to)
	case u.Scheme == "mailto" && strings.Contains(u.Opaque, "@"), u.Scheme == "" && u.Host == "":
	case u.Scheme != "" && u.Scheme != "http" && u.Scheme != "https":
		c.find(line, "links", "%q: want http, https, mailto, or a path on the site", to)
	case u.User != nil:
		c.find(line, "links", "a link to %s holds a user's name or a password", u.Host)
	case private(u.Hostname()):
		c.find(line, "links", "%q is a host that only its own network knows", u.Hostname())
	}
}

// private says whether a host can only be reached from within its network: RFC 1918, 4193, 6761, 6762, 8375.
func private(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if ip, err := netip.ParseAddr(host); err == nil {
		ip = ip.Unmap()
		return ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsUnspecified() || ip.IsMulticast()
	}
	if !strings.Contains(host, ".") {
		return true
	}
	for _, suffix := range []string{".localhost", ".local", ".internal", ".intranet", ".lan", ".corp", ".home.arpa", ".test", ".invalid"} {
		if strings.HasSuffix(host, suffix) {
			return true
		}
	}
	return false
}

// wording looks at the words that readers see.
func (c *check) wording() {
	visible := article.Text(c.a).Visible()
	words := 0
	for _, p := range visible {
		words += len(strings.Fields(p))
	}
	if c.MinWords > 0 && words < c.MinWords {
		c.find(c.a.BodyLine, "length", "%d words; want at least %d", words, c.MinWords)
	}
	if c.MaxWords > 0 && words > c.MaxWords {
		c.find(c.a.BodyLine, "length", "%d words; want at most %d", words, c.MaxWords)
	}
	all := strings.ToLower(strings.Join(strings.Fields(strings.Join(append(visible, c.a.Title, c.a.Description), "\n")), " "))
	for _, phrase := range append([]string{"lorem ipsum"}, c.Forbidden...) {
		phrase = strings.ToLower(strings.Join(strings.Fields(phrase), " "))
		if phrase == "" || !strings.Contains(all, phrase) {
			continue
		}
		line := 1
		if at := strings.Index(strings.ToLower(c.a.Body), phrase); at >= 0 && len(strings.ToLower(c.a.Body)) == len(c.a.Body) {
			line = c.line(at)
		}
		c.find(line, "wording", "%q is not to be published", phrase)
	}
}
