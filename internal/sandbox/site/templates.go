package site

import (
	"html/template"
	xml "text/template"
)

const style = `<style>
:root{color-scheme:light dark;--ink:light-dark(#222,#ddd);--soft:light-dark(#666,#999);--line:light-dark(#e5e0d8,#333);--paper:light-dark(#fffdf9,#16171a)}
body{font:18px/1.65 Georgia,serif;color:var(--ink);background:var(--paper);max-width:40rem;margin:0 auto;padding:2rem 1.2rem}
a{color:inherit}header,footer{font:14px/1.5 system-ui;color:var(--soft);border-bottom:1px solid var(--line);padding-bottom:.8rem;margin-bottom:2rem}
footer{border:0;border-top:1px solid var(--line);padding-top:.8rem;margin-top:3rem}h1{line-height:1.2}time{font:14px system-ui;color:var(--soft)}
pre{overflow:auto;padding:1rem;background:light-dark(#f4f0e8,#202226)}code{font-size:.85em}blockquote{border-left:3px solid var(--line);margin-left:0;padding-left:1rem;color:var(--soft)}
</style>`

func parsed(name, source string) *template.Template {
	return template.Must(template.New(name).Parse(source))
}

var (
	page = parsed("page", `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>{{.Post.Title}} · {{.Site}}</title><link rel="canonical" href="{{.Base}}/posts/{{.Post.Slug}}/"><meta name="description" content="{{.Post.Description}}">
<meta property="og:title" content="{{.Post.Title}}"><meta property="article:published_time" content="{{.Post.Date}}"><link rel="alternate" type="application/rss+xml" href="/feed.xml">`+style+`</head>
<body><header><nav><a href="/">{{.Site}}</a></nav></header><main><article><h1>{{.Post.Title}}</h1><p><time datetime="{{.Post.Date}}">{{.Post.Date}}</time></p>
{{.Post.Body}}</article></main><footer><a href="/feed.xml">Feed</a></footer></body></html>`)
	index = parsed("index", `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>{{.Site}}</title>
<link rel="canonical" href="{{.Base}}/">`+style+`</head><body><header><nav><a href="/">{{.Site}}</a></nav></header><main><h1>{{.Site}}</h1>
{{range .Posts}}<article><h2><a href="/posts/{{.Slug}}/">{{.Title}}</a></h2><p><time datetime="{{.Date}}">{{.Date}}</time> {{.Description}}</p></article>
{{else}}<p>Nothing has been published yet.</p>{{end}}</main><footer><a href="/feed.xml">Feed</a></footer></body></html>`)
	missing = parsed("missing", `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Not found · {{.Site}}</title>`+style+`</head><body><h1>Not found</h1><p><a href="/">{{.Site}}</a></p></body></html>`)
)

// The listings are XML, where HTML's templates do not belong; every value is escaped.
var (
	sitemap = listing("sitemap", `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>{{.Base}}/</loc></url>
{{range .Posts}}<url><loc>{{$.Base}}/posts/{{.Slug | html}}/</loc><lastmod>{{.Date | html}}</lastmod></url>
{{end}}</urlset>`)
	feed = listing("feed", `<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0"><channel><title>{{.Site | html}}</title><link>{{.Base}}/</link><description>{{.Site | html}}</description>
{{range .Posts}}<item><title>{{.Title | html}}</title><link>{{$.Base}}/posts/{{.Slug | html}}/</link><guid isPermaLink="true">{{$.Base}}/posts/{{.Slug | html}}/</guid><description>{{.Description | html}}</description></item>
{{end}}</channel></rss>`)
)

func listing(name, source string) *xml.Template {
	return xml.Must(xml.New(name).Parse(source))
}
