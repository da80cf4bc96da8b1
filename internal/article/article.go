// Package article reads articles as people write them: Markdown under YAML or TOML front matter, with or
// without a byte order mark, with either kind of line end. It never changes what it reads.
package article

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"colophon/publish"

	"github.com/BurntSushi/toml"
	"github.com/goccy/go-yaml"
)

// Article is what Colophon reads of an article. Keys of the front matter that it does not know belong to
// the site and stay in the source.
type Article struct {
	Title       string
	Date        publish.Date // the calendar day as written, whatever its offset
	Slug        string
	Description string
	Language    string
	Series      string // whose articles may be alike
	Tags        []string
	Draft       bool
	Keys        []string // of the front matter, sorted
	Body        string   // the Markdown after the front matter, with LF line ends
	BodyLine    int      // the line on which the body begins
}

// Error is a fault in a source, with the place where it is.
type Error struct {
	File string
	Line int // from 1; 0 when the whole file is meant
	What string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.What
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.What)
}

// Parse reads a source. Name is the file's, for errors.
func Parse(name string, source []byte) (Article, error) {
	if !utf8.Valid(source) {
		return Article{}, &Error{File: name, What: "is not UTF-8; save it as UTF-8"}
	}
	text := strings.ReplaceAll(string(bytes.TrimPrefix(source, []byte("\xef\xbb\xbf"))), "\r\n", "\n")
	fence, front, body, err := split(text)
	if err != nil {
		return Article{}, &Error{File: name, Line: 1, What: err.Error()}
	}
	fields := map[string]any{}
	if fence == "+++" {
		_, err = toml.Decode(front, &fields)
	} else {
		err = yaml.Unmarshal([]byte(front), &fields)
	}
	if err != nil {
		return Article{}, &Error{File: name, Line: errorLine(err), What: "front matter: " + oneLine(err)}
	}
	a := Article{Body: body, BodyLine: 1 + strings.Count(text[:len(text)-len(body)], "\n"), Keys: slices.Sorted(maps.Keys(fields))}
	r := reader{name: name, front: front, fields: fields}
	a.Title, a.Slug = r.text("title"), r.text("slug")
	a.Description, a.Language = r.text("description"), r.text("lang")
	a.Series = r.text("series")
	a.Date, a.Tags, a.Draft = r.date("date"), r.list("tags"), r.flag("draft")
	return a, errors.Join(r.errs...)
}

// split parts the front matter from the body. A fence ends it only as a line of its own at the margin, so
// that three hyphens inside an indented block stay in it.
func split(text string) (fence, front, body string, err error) {
	for _, f := range []string{"---", "+++"} {
		rest, ok := strings.CutPrefix(text, f+"\n")
		if !ok {
			continue
		}
		if body, ok := strings.CutPrefix(rest, f+"\n"); ok {
			return f, "", body, nil
		}
		if front, body, ok := strings.Cut(rest, "\n"+f+"\n"); ok {
			return f, front, body, nil
		}
		if front, ok := strings.CutSuffix(rest, "\n"+f); ok {
			return f, front, "", nil
		}
		return f, "", "", fmt.Errorf("the front matter that begins here has no closing %s", f)
	}
	return "", "", "", errors.New("no front matter; begin with --- (YAML) or +++ (TOML), then title, date and slug")
}

// errorLine is where a decoder saw a fault, counted in the whole file.
func errorLine(err error) int {
	var y yaml.Error
	if errors.As(err, &y) && y.GetToken() != nil {
		return y.GetToken().Position.Line + 1
	}
	var t toml.ParseError
	if errors.As(err, &t) {
		return t.Position.Line + 1
	}
	return 1
}

func oneLine(err error) string {
	var y yaml.Error
	if errors.As(err, &y) {
		return y.GetMessage()
	}
	var t toml.ParseError
	if errors.As(err, &t) {
		return t.Message
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}

// reader takes typed values out of front matter and gathers what is wrong with them.
type reader struct {
	name, front string
	fields      map[string]any
	errs        []error
}

func (r *reader) wrong(key, want string) {
	line := 1
	for n, l := range strings.Split(r.front, "\n") {
		if strings.HasPrefix(strings.TrimLeft(l, `"'`), key) {
			line = n + 2
			break
		}
	}
	r.errs = append(r.errs, &Error{File: r.name, Line: line, What: fmt.Sprintf("%s: %v is not %s", key, r.fields[key], want)})
}

func (r *reader) text(key string) string {
	v, ok := r.fields[key]
	s, isText := v.(string)
	if ok && v != nil && !isText {
		r.wrong(key, "text; put it in quotes")
	}
	return s
}

// flag reads true or false, and refuses text: sites differ in what the word "false" means to them.
func (r *reader) flag(key string) bool {
	v, ok := r.fields[key]
	b, isFlag := v.(bool)
	if ok && !isFlag {
		r.wrong(key, "true or false, without quotes")
	}
	return b
}

func (r *reader) list(key string) []string {
	v, ok := r.fields[key]
	if !ok || v == nil {
		return nil
	}
	items, isList := v.([]any)
	var out []string
	for _, i := range items {
		s, isText := i.(string)
		isList = isList && isText
		out = append(out, s)
	}
	if !isList {
		r.wrong(key, "a list of texts")
	}
	return out
}

func (r *reader) date(key string) publish.Date {
	var s string
	switch v := r.fields[key].(type) {
	case nil:
		return ""
	case string:
		s = v
	case time.Time:
		s = v.Format(time.RFC3339)
	default:
		s = fmt.Sprint(v)
	}
	if len(s) > len(time.DateOnly) && strings.ContainsAny(s[len(time.DateOnly):len(time.DateOnly)+1], "T t") {
		s = s[:len(time.DateOnly)]
	}
	d, err := publish.ParseDate(s)
	if err != nil {
		r.wrong(key, "a day that exists, as YYYY-MM-DD")
	}
	return d
}

// Complete says what keeps an article from being published for an intent; nothing, if all is well.
func Complete(a Article, in publish.Intent) []string {
	var out []string
	need := func(ok bool, format string, args ...any) {
		if !ok {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	need(strings.TrimSpace(a.Title) != "" && !strings.ContainsAny(a.Title, "\n\r"), "title: want one line of text")
	need(a.Date == in.Date, "date: the draft says %q, the intent %s", a.Date, in.Date)
	need(a.Slug == in.Slug, "slug: the draft says %q, the intent %q", a.Slug, in.Slug)
	need(!a.Draft, "draft: is true, and the site would not show it")
	need(strings.TrimSpace(a.Body) != "", "the article has no text")
	return out
}
