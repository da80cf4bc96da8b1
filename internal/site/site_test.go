package site

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"colophon/internal/wire"
	"colophon/publish"
)

// pages is a small site; a path that is not there is a 404.
type pages map[string]string

func (p pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, ok := p[r.URL.Path]
	if to, redirect := strings.CutPrefix(body, "redirect "); redirect {
		http.Redirect(w, r, to, http.StatusMovedPermanently)
		return
	}
	if !ok {
		w.WriteHeader(http.StatusNotFound)
	}
	if strings.HasPrefix(body, "<!doctype") {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
	}
	fmt.Fprint(w, body)
}

const article = `<!doctype html><html><head><title>Look, then act – Example</title><link rel="canonical" href="/posts/look/">
<meta property="article:published_time" content="2026-10-04T00:00:00Z"></head>
<body><nav><a href="/">Home</a></nav><article><h1>Look, then act</h1><p>First <em>lo</em>ok.</p><p>Then act.</p></article></body></html>`

func live(t *testing.T) (pages, *Site, publish.Expected) {
	p := pages{
		"/posts/look/": article,
		"/":            `<!doctype html><body><nav><a href="/posts/look/">newest</a></nav><main><article><a href="/posts/look/"><img></a><h2><a href="/posts/look/">Look</a></h2></article><article><a href="/posts/old/">Old</a></article></main>`,
	}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	p["/sitemap.xml"] = `<?xml version="1.0"?><sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><sitemap><loc>` + server.URL + `/s1.xml</loc></sitemap></sitemapindex>`
	p["/s1.xml"] = zipped(`<urlset xmlns:xhtml="x"><url><loc> ` + server.URL + `/posts/look/ </loc><xhtml:link rel="alternate" href="` + server.URL + `/posts/look/"/></url></urlset>`)
	p["/feed.xml"] = `<?xml version="1.0"?><rss version="2.0"><channel><title>E</title><item><title>Look</title><link>` + server.URL + `/posts/look/</link></item></channel></rss>`
	s := New(wire.New(wire.Options{}), Options{Index: server.URL + "/", Sitemap: server.URL + "/sitemap.xml", Feed: server.URL + "/feed.xml"})
	return p, s, publish.Expected{URL: publish.CanonicalURL(server.URL + "/posts/look/"), Title: "Look, then act", Date: "2026-10-04", Blocks: []string{"First look.", "Then act."}}
}

func zipped(s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(s))
	_ = z.Close()
	return b.String()
}

func TestProductionIsSeenOnEverySurface(t *testing.T) {
	p, s, e := live(t)
	js, evidence, err := s.Look(context.Background(), e)
	if ok, _, summary := publish.Live(js); err != nil || !ok || len(js) != 4 || len(evidence) != 4 {
		t.Fatalf("%v, %v: %s", js, err, summary)
	}
	good := string(e.URL)
	for name, c := range map[string]struct {
		path, body string
		surface    string
		want       publish.Verdict
	}{
		"redirected page":   {"/posts/look/", "redirect /posts/look", "page", publish.WrongForm},
		"another article":   {"/posts/look/", strings.NewReplacer("Look, then act", "Cooking", "First <em>lo</em>ok", "Boil", "Then act", "Water").Replace(article), "page", publish.OtherArticle},
		"previous content":  {"/posts/look/", strings.Replace(article, "Then act.", "Then wait.", 1), "page", publish.Stale},
		"canonical in body": {"/posts/look/", strings.Replace(strings.Replace(article, `<link rel="canonical" href="/posts/look/">`, "", 1), "<article>", `<article><link rel="canonical" href="/posts/look/">`, 1), "page", publish.WrongCanonical},
		"index twice":       {"/", `<!doctype html><article><a href="/posts/look/">a</a></article><article><a href="/posts/look/">b</a></article>`, "index", publish.Duplicate},
		"sitemap variant":   {"/s1.xml", `<urlset><url><loc>` + good + `</loc></url><url><loc>` + strings.TrimSuffix(good, "/") + `</loc></url></urlset>`, "sitemap", publish.Variant},
		"sitemap twice":     {"/s1.xml", `<urlset><url><loc>` + good + `</loc></url><url><loc>` + good + `</loc></url></urlset>`, "sitemap", publish.Duplicate},
		"sitemap broken":    {"/s1.xml", `<urlset><url><loc>` + good, "sitemap", publish.Unreadable},
		"sitemap is html":   {"/s1.xml", `<html></html>`, "sitemap", publish.Unreadable},
		"feed without":      {"/feed.xml", `<feed xmlns="http://www.w3.org/2005/Atom"><title>E</title><entry><id>x</id><link href="/posts/old/"/></entry></feed>`, "feed", publish.Missing},
		"feed is no feed":   {"/feed.xml", `nothing`, "feed", publish.Unreadable},
	} {
		was := p[c.path]
		p[c.path] = c.body
		js, _, _ := s.Look(context.Background(), e)
		p[c.path] = was
		n := slices.IndexFunc(js, func(j publish.Judgement) bool { return j.Surface == c.surface })
		if js[n].Verdict != c.want {
			t.Errorf("%s: %s is %s (%s), want %s", name, c.surface, js[n].Verdict, js[n].Detail, c.want)
		}
	}
}

func TestSoftMissingPagesAreSeenThrough(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!doctype html><title>Oops</title><p>Nothing here")
	}))
	defer server.Close()
	js, _, _ := New(wire.New(wire.Options{}), Options{}).Look(context.Background(), publish.Expected{URL: publish.CanonicalURL(server.URL + "/posts/x/"), Title: "X", Blocks: []string{"Some text"}})
	if js[0].Verdict != publish.SoftMissing {
		t.Errorf("%+v", js)
	}
}

func TestFeedsOfEveryKindAreRead(t *testing.T) {
	for name, body := range map[string]string{
		"rss":  `<rss version="2.0"><channel><item><link>https://e/a/</link></item><item><guid>https://e/b/</guid></item></channel></rss>`,
		"atom": `<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>1</id><link href="https://e/a/"/></entry><entry><id>2</id><link href="https://e/b/"/></entry></feed>`,
		"json": `{"version":"https://jsonfeed.org/version/1.1","items":[{"id":"1","url":"https://e/a/"},{"id":"2","url":"https://e/b/"}]}`,
	} {
		got, err := ParseFeed("https://e/", []byte(body))
		if err != nil || !slices.Equal(got, []string{"https://e/a/", "https://e/b/"}) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func FuzzParsePage(f *testing.F) {
	f.Add("https://e/a", article)
	f.Fuzz(func(_ *testing.T, base, body string) { ParsePage(base, http.Header{"Link": {body}}, []byte(body)) })
}

func FuzzParseSitemap(f *testing.F) {
	f.Add([]byte(`<urlset><url><loc>https://e/</loc></url></urlset>`))
	f.Add([]byte(zipped(`<sitemapindex/>`)))
	f.Fuzz(func(_ *testing.T, body []byte) { _, _ = ParseSitemap(bytes.NewReader(body)) })
}

func FuzzParseFeed(f *testing.F) {
	f.Add([]byte(`<rss version="2.0"><channel><item><link>https://e/a/</link></item></channel></rss>`))
	f.Add([]byte(`{"version":"https://jsonfeed.org/version/1","items":[{}]}`))
	f.Fuzz(func(_ *testing.T, body []byte) { _, _ = ParseFeed("https://e/", body) })
}

func FuzzParseIndex(f *testing.F) {
	f.Add([]byte(`<article><a href="/a#b">`))
	f.Fuzz(func(_ *testing.T, body []byte) { ParseIndex("https://e/", body) })
}

// TestWhatIsServedBeforeAnArticleIsPublished: nothing, the article, or another; a site that cannot be read is an error,
// one that is not there serves nothing.
func TestWhatIsServedBeforeAnArticleIsPublished(t *testing.T) {
	for name, c := range map[string]struct {
		change func(pages, *Options)
		want   publish.Verdict
		fails  bool
	}{
		"the article": {func(pages, *Options) {}, publish.IsLive, false},
		"another at its URL": {func(p pages, _ *Options) {
			p["/posts/look/"] = strings.NewReplacer("Look, then act", "Cooking", "First <em>lo</em>ok", "Boil", "Then act", "Water").Replace(article)
		}, publish.OtherArticle, false},
		"a redirect": {func(p pages, _ *Options) { p["/posts/look/"] = "redirect /elsewhere/" }, publish.WrongForm, false},
		"a variant is listed": {func(p pages, _ *Options) {
			p["/s1.xml"] = strings.ReplaceAll(unzipped(t, p["/s1.xml"]), "/posts/look/", "/posts/look")
		}, publish.IsLive, false},
		"listed, and gone":         {func(p pages, _ *Options) { delete(p, "/posts/look/") }, publish.Missing, false},
		"not listed":               {func(p pages, _ *Options) { p["/s1.xml"] = "<urlset></urlset>" }, publish.Missing, false},
		"no sitemap there yet":     {func(p pages, _ *Options) { delete(p, "/sitemap.xml") }, publish.Missing, false},
		"a sitemap that is none":   {func(p pages, _ *Options) { p["/sitemap.xml"] = "<html>" }, publish.Unreadable, true},
		"listed in the feed alone": {func(_ pages, o *Options) { o.Sitemap = "" }, publish.IsLive, false},
		"nothing to look at":       {func(_ pages, o *Options) { *o = Options{} }, publish.Missing, false},
	} {
		p, s, e := live(t)
		c.change(p, &s.options)
		j, evidence, err := s.Serves(context.Background(), e)
		if j.Verdict != c.want || (err != nil) != c.fails || len(evidence) == 0 && name != "nothing to look at" {
			t.Errorf("%s: %+v, %v, %v", name, j, evidence, err)
		}
	}
}

func unzipped(t *testing.T, s string) string {
	t.Helper()
	z, err := gzip.NewReader(strings.NewReader(s))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
