package publish

import (
	"net/url"
	"path"
	"strings"
)

// NormalURL folds what RFC 3986, section 6.2, calls the same URL: the case of scheme and host, the default
// port, the case of percent-encodings and of unreserved characters within them, and dot segments. It
// folds nothing else: a trailing slash, www, a query or .html make a variant, which is counted.
func NormalURL(s string) string {
	u, err := url.Parse(strings.TrimSpace(s))
	if err != nil || u.Host == "" {
		return s
	}
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	if port := u.Port(); port == "80" && u.Scheme == "http" || port == "443" && u.Scheme == "https" {
		u.Host = strings.TrimSuffix(u.Host, ":"+port)
	}
	p := u.EscapedPath()
	if p == "" {
		p = "/"
	}
	trailing := strings.HasSuffix(p, "/") || strings.HasSuffix(p, "/.") || strings.HasSuffix(p, "/..")
	if strings.Contains(p, "/.") {
		if p = path.Clean(p); trailing && p != "/" {
			p += "/"
		}
	}
	out := u.Scheme + "://" + u.Host + foldEscapes(p)
	if u.RawQuery != "" {
		out += "?" + u.RawQuery
	}
	return out
}

// foldEscapes writes percent-encodings in capitals, and decodes those of unreserved characters.
func foldEscapes(p string) string {
	const unreserved = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~"
	var b strings.Builder
	for i := 0; i < len(p); i++ {
		if p[i] != '%' || i+2 >= len(p) {
			b.WriteByte(p[i])
			continue
		}
		if c, err := url.PathUnescape(p[i : i+3]); err == nil && strings.Contains(unreserved, c) {
			b.WriteString(c)
		} else {
			b.WriteString(strings.ToUpper(p[i : i+3]))
		}
		i += 2
	}
	return b.String()
}

// looseURL drops what makes variants of one page: scheme, www, trailing slash, query, fragment, .html and
// index.html.
func looseURL(s string) string {
	n := NormalURL(s)
	_, n, _ = strings.Cut(n, "://")
	n, _, _ = strings.Cut(n, "#")
	n, _, _ = strings.Cut(n, "?")
	n = strings.TrimPrefix(n, "www.")
	n = strings.TrimSuffix(n, "/")
	n = strings.TrimSuffix(n, "/index.html")
	return strings.TrimSuffix(n, ".html")
}
