package article

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"colophon/publish"
)

func TestFrontMatterIsReadInEveryForm(t *testing.T) {
	yaml := "---\ntitle: \"Look: then act\"\ndate: 2026-10-04\nslug: look\ndescription: |\n  one\n  ---\n  two\ntags: [a, b]\nlayout: post\n---\nBody\n\n---\n\nmore\n"
	toml := "+++\ntitle = \"Look: then act\"\ndate = 2026-10-04\nslug = \"look\"\ndescription = \"\"\"\none\n---\ntwo\n\"\"\"\ntags = [\"a\", \"b\"]\n+++\nBody\n\n---\n\nmore\n"
	for name, source := range map[string]string{
		"yaml": yaml, "toml": toml, "bom": "\xef\xbb\xbf" + yaml, "crlf": strings.ReplaceAll(yaml, "\n", "\r\n"),
		"offset": strings.Replace(yaml, "date: 2026-10-04", "date: 2026-10-04T23:30:00-11:00", 1),
		"quoted": strings.Replace(yaml, "date: 2026-10-04", "date: \"2026-10-04\"", 1),
		"time":   strings.Replace(toml, "date = 2026-10-04", "date = 2026-10-04T23:30:00+14:00", 1),
	} {
		a, err := Parse("a.md", []byte(source))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if a.Title != "Look: then act" || a.Date != "2026-10-04" || a.Slug != "look" || !strings.Contains(a.Description, "---") ||
			!slices.Equal(a.Tags, []string{"a", "b"}) || a.Body != "Body\n\n---\n\nmore\n" {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

func TestFaultsNameFileLineAndWhatIsWanted(t *testing.T) {
	for name, c := range map[string]struct {
		source string
		line   int
		want   string
	}{
		"none":          {"# Hello\n", 1, "begin with ---"},
		"latin-1":       {"---\ntitle: caf\xe9\n---\n", 0, "not UTF-8"},
		"open":          {"---\ntitle: x\n", 1, "no closing ---"},
		"colon":         {"---\nslug: x\ntitle: a: b\n---\n", 3, "front matter"},
		"bad toml":      {"+++\ntitle = \"x\"\ndate = = 1\n+++\n", 3, "front matter"},
		"number":        {"---\nslug: a\ntitle: 42\n---\n", 3, "not text"},
		"text as flag":  {"---\ntitle: a\ndraft: \"false\"\n---\n", 3, "true or false"},
		"no such day":   {"---\ndate: 2026-02-30\n---\n", 2, "a day that exists"},
		"duplicate key": {"---\ntitle: a\ntitle: b\n---\n", 3, "front matter"},
	} {
		_, err := Parse("a.md", []byte(c.source))
		var e *Error
		if !errors.As(err, &e) || e.File != "a.md" || e.Line != c.line || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want line %d with %q", name, err, c.line, c.want)
		}
	}
}

func TestArticleMustFitItsIntent(t *testing.T) {
	in := publish.Intent{Date: "2026-10-04", Slug: "look"}
	good := Article{Title: "Look", Date: "2026-10-04", Slug: "look", Body: "Text"}
	if p := Complete(good, in); len(p) != 0 {
		t.Fatalf("a good article: %v", p)
	}
	for want, change := range map[string]func(*Article){
		"title": func(a *Article) { a.Title = " " }, "date": func(a *Article) { a.Date = "2026-10-05" }, "slug": func(a *Article) { a.Slug = "other" },
		"draft": func(a *Article) { a.Draft = true }, "no text": func(a *Article) { a.Body = "\n" },
	} {
		a := good
		change(&a)
		if p := Complete(a, in); len(p) != 1 || !strings.Contains(p[0], want) {
			t.Errorf("%s: %v", want, p)
		}
	}
}

func TestTextIsWhatAReaderSees(t *testing.T) {
	body := "# A *title*\n\nOne [link](https://x) and `code`\nand more.\n\n- item **one**\n- item two\n\n> quoted\n\n```go\nfunc f()\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n![alt](x.png) <b>raw</b>\n"
	got := Text(Article{Body: body}).Visible()
	want := []string{"A title", "One link and code and more.", "item one", "item two", "quoted", "raw"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("---\ntitle: a\ndate: 2026-10-04\n---\nx"))
	f.Add([]byte("\xef\xbb\xbf+++\r\ntitle = \"a\"\r\n+++\r\n"))
	f.Add([]byte("---\n? [a]\n: {b: 1}\n---\n"))
	f.Fuzz(func(t *testing.T, source []byte) {
		a, err := Parse("a.md", source)
		if err == nil && a.Date != "" {
			if _, err := publish.ParseDate(string(a.Date)); err != nil {
				t.Fatal(err)
			}
		}
		_ = Text(a)
	})
}
