// Package site is a real, small web site made of a repository's tree: a page an article, an index, a
// sitemap and a feed. A new commit becomes visible some time after it is there, as on any host.
package site

import (
	"bytes"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/goccy/go-yaml"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
)

// Options describe the site.
type Options struct {
	Title    string
	Delay    time.Duration     // from a commit to its being live
	KeyFiles map[string]string // further files at the root, such as IndexNow's key
}

// Site serves what was deployed last.
type Site struct {
	options Options

	mu    sync.Mutex
	posts []post
}

// post is one rendered article.
type post struct {
	Title, Slug, Description, Date string
	Body                           template.HTML
}

// New makes an empty site.
func New(o Options) *Site { return &Site{options: o} }

// Deploy makes files visible after the site's delay. A later deployment replaces an earlier one.
func (s *Site) Deploy(files map[string][]byte) {
	publish := func() {
		posts := build(files)
		s.mu.Lock()
		s.posts = posts
		s.mu.Unlock()
	}
	if s.options.Delay == 0 {
		publish()
		return
	}
	time.AfterFunc(s.options.Delay, publish)
}

// build renders every article, newest first. Two articles with one slug both stand in the listings, as
// real generators do it.
func build(files map[string][]byte) []post {
	md := goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Typographer))
	var posts []post
	for path, source := range files {
		if !strings.HasPrefix(path, "posts/") || !strings.HasSuffix(path, ".md") {
			continue
		}
		meta, body := parse(string(source))
		var html bytes.Buffer
		if err := md.Convert([]byte(body), &html); err != nil || meta["draft"] == true {
			continue
		}
		p := post{Title: text(meta["title"]), Slug: text(meta["slug"]), Description: text(meta["description"]), Date: text(meta["date"]), Body: template.HTML(html.String())}
		if p.Slug == "" {
			p.Slug = strings.TrimSuffix(strings.TrimPrefix(path, "posts/"), ".md")
		}
		if len(p.Date) > 10 {
			p.Date = p.Date[:10]
		}
		posts = append(posts, p)
	}
	slices.SortFunc(posts, func(a, b post) int { return strings.Compare(b.Date+b.Slug, a.Date+a.Slug) })
	return posts
}

func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case time.Time:
		return v.Format(time.DateOnly)
	default:
		return fmt.Sprint(v)
	}
}

func parse(source string) (meta map[string]any, body string) {
	source = strings.ReplaceAll(strings.TrimPrefix(source, "\ufeff"), "\r\n", "\n")
	meta = map[string]any{}
	for fence, decode := range map[string]func(string) error{
		"---\n": func(s string) error { return yaml.Unmarshal([]byte(s), &meta) },
		"+++\n": func(s string) error { return toml.Unmarshal([]byte(s), &meta) },
	} {
		if rest, ok := strings.CutPrefix(source, fence); ok {
			front, body, _ := strings.Cut(rest, "\n"+fence)
			if decode(front) == nil {
				return meta, body
			}
		}
	}
	return meta, source
}

// ServeHTTP serves one page.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	posts := s.posts
	s.mu.Unlock()
	v := view{Site: s.options.Title, Base: "http://" + r.Host, Posts: posts}
	w.Header().Set("Cache-Control", "max-age=0, must-revalidate")
	slug, isPost := strings.CutPrefix(r.URL.Path, "/posts/")
	slug, slashed := strings.CutSuffix(slug, "/")
	n := slices.IndexFunc(posts, func(p post) bool { return p.Slug == slug })
	switch file, isFile := s.options.KeyFiles[strings.TrimPrefix(r.URL.Path, "/")]; {
	case isFile:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprint(w, file)
	case r.URL.Path == "/":
		render(w, "text/html; charset=utf-8", index, v)
	case r.URL.Path == "/sitemap.xml":
		render(w, "application/xml", sitemap, v)
	case r.URL.Path == "/feed.xml":
		render(w, "application/rss+xml", feed, v)
	case r.URL.Path == "/robots.txt":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintf(w, "User-agent: *\nAllow: /\nSitemap: %s/sitemap.xml\n", v.Base)
	case isPost && n >= 0 && slashed:
		v.Post = &posts[n]
		render(w, "text/html; charset=utf-8", page, v)
	case isPost && n >= 0:
		http.Redirect(w, r, r.URL.Path+"/", http.StatusMovedPermanently)
	default:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusNotFound)
		_ = missing.Execute(w, v)
	}
}

// view is what a template is given.
type view struct {
	Site, Base string
	Posts      []post
	Post       *post
}

// executor is a template of either kind.
type executor interface {
	Execute(w io.Writer, data any) error
}

func render(w http.ResponseWriter, kind string, t executor, v view) {
	var b bytes.Buffer
	if err := t.Execute(&b, v); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(b.Bytes())
}

// Slugs lists the live articles' slugs, as often as they are live.
func (s *Site) Slugs() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, p := range s.posts {
		out = append(out, p.Slug)
	}
	return out
}
