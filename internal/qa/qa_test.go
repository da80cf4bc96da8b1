package qa

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"colophon/publish"
)

const front = "---\ntitle: Look first\ndate: 2026-10-04\nslug: look\ndescription: What to do.\n---\n\n"

func faultsOf(t *testing.T, r Rules, source string) []publish.Fault {
	t.Helper()
	faults, err := r.Check(context.Background(), "look.md", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	return faults
}

func TestFaultsAreToldWithLineAndRule(t *testing.T) {
	for name, c := range map[string]struct {
		rules Rules
		body  string // begins on line 8
		want  string // line rule, in order
	}{
		"good":                  {Rules{Required: []string{"description"}, MinWords: 3, MaxWords: 30}, "Some words, and [a link](https://example.org/a).\n\n## One\n\n### Two\n\n## Three\n\n![A cat](/cat.png)\n", ""},
		"front matter":          {Rules{Required: []string{"description", "tags"}}, "Words.\n", "1 front_matter"},
		"two titles":            {Rules{}, "Words.\n\n# Another title\n", "10 title"},
		"a level is left out":   {Rules{}, "Words.\n\n## One\n\n#### Two\n", "12 headings"},
		"an empty heading":      {Rules{}, "Words.\n\n##\n\nMore.\n", "8 headings"},
		"setext title":          {Rules{}, "Title\n=====\n\nWords.\n", "8 title"},
		"no destination":        {Rules{}, "See [here]().\n", "8 links"},
		"script":                {Rules{}, "One.\n\nSee [here](javascript:alert(1)).\n", "10 links"},
		"data":                  {Rules{}, "See [here](data:text/html,x).\n", "8 links"},
		"credentials":           {Rules{}, "See [here](https://ada:geheim@example.org/).\n", "8 links"},
		"private address":       {Rules{}, "See [a](http://192.168.1.7/) and\n[b](http://[fd00::1]/), <http://localhost:3000/>.\n", "8 links, 9 links, 9 links"},
		"private name":          {Rules{}, "See [a](https://wiki/page), [b](https://wiki.corp/), [c](https://printer.local/).\n", "8 links, 8 links, 8 links"},
		"relative and mail":     {Rules{}, "See [a](/posts/a/), [b](#below), [c](mailto:ada@example.org), [d](../x.md).\n", ""},
		"bare address":          {Rules{}, "See http://wiki.corp/page for it.\n", "8 links"},
		"reference":             {Rules{}, "See [it][1].\n\n[1]: http://127.0.0.1/\n", "8 links"},
		"no alternative text":   {Rules{}, "Words.\n\n![](/cat.png)\n", "10 alt_text"},
		"too short":             {Rules{MinWords: 10}, "Three words here.\n", "7 length"},
		"too long":              {Rules{MaxWords: 2}, "Three words here.\n", "7 length"},
		"code does not count":   {Rules{MinWords: 4, Forbidden: []string{"secret sauce"}}, "Three words here.\n\n```\none two three secret sauce\n```\n", "7 length"},
		"forbidden":             {Rules{Forbidden: []string{"as an AI language model"}}, "Words.\n\nWell, As An AI Language\nModel, I think.\n", "1 wording"},
		"forbidden on one line": {Rules{Forbidden: []string{"synergy"}}, "Words.\n\nAll that Synergy.\n", "10 wording"},
		"filler":                {Rules{}, "Lorem ipsum dolor.\n", "8 wording"},
		"links in code":         {Rules{}, "Run `curl http://localhost/`.\n\n    [x](javascript:1)\n", ""},
	} {
		var got []string
		for _, f := range faultsOf(t, c.rules, front+c.body) {
			got = append(got, fmt.Sprintf("%d %s", f.Line, f.Rule))
			if f.Detail == "" {
				t.Errorf("%s: no detail: %+v", name, f)
			}
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%s: %q, want %q", name, s, c.want)
		}
	}
}

// script is a checker of the test's own.
func script(t *testing.T, text string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "checker")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return []string{path, "one", "two words"}
}

func TestACheckerAnswersWithItsExitCode(t *testing.T) {
	t.Setenv("GITHUB_TOKEN", "ghp_abcdefghijklmnop")
	draft := front + "Words.\n"
	for name, c := range map[string]struct{ script, want string }{
		"passed":                  {"exit 0", ""},
		"says much, and passes":   {"echo look.md:3: fine; exit 0", ""},
		"gets the draft":          {"[ \"$(sed -n 2p)\" = 'title: Look first' ] && [ \"$COLOPHON_DRAFT\" = look.md ] && [ \"$2\" = 'two words' ]", ""},
		"faults with their lines": {"echo 'look.md:3:1: spelling'; echo; echo 'no place'; exit 1", "0 no place, 3 look.md:3:1: spelling"},
		"without a word":          {"exit 7", "0 exit code 7, without a word"},
		"no secrets":              {"echo \"token $GITHUB_TOKEN.\"; exit 1", "0 token ."},
		"leaves its input":        {"exit 1", "0 exit code 1, without a word"},
	} {
		var got []string
		for _, f := range faultsOf(t, Rules{Checkers: [][]string{script(t, c.script)}}, draft) {
			got = append(got, fmt.Sprintf("%d %s", f.Line, f.Detail))
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%s: %q, want %q", name, s, c.want)
		}
	}
	flood := faultsOf(t, Rules{Checkers: [][]string{script(t, "yes 'fault' | head -c 10000000; exit 1")}}, draft)
	if len(flood) != mostFaults {
		t.Errorf("%d faults of a flood", len(flood))
	}
	for name, command := range map[string][]string{"not there": {"/nonexistent/checker"}, "killed": script(t, "kill -9 $$")} {
		if faults, err := (Rules{Checkers: [][]string{command}}).Check(context.Background(), "look.md", []byte(draft)); err == nil {
			t.Errorf("%s passes for an answer: %v", name, faults)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := (Rules{Checkers: [][]string{script(t, "sleep 60")}}).Check(ctx, "look.md", []byte(draft)); err == nil {
		t.Error("a checker that was given up passes for an answer")
	}
}

func FuzzCheck(f *testing.F) {
	f.Add(front + "# A\n\n[x](y) ![](z)\n\n> ## q\n\n- [ ] a\n\n|a|b|\n|-|-|\n|[x](http://a)|![](b)|\n")
	f.Fuzz(func(t *testing.T, source string) {
		faults, err := Rules{MinWords: 1, Forbidden: []string{"a", "İ"}}.Check(context.Background(), "x.md", []byte(source))
		if err != nil {
			return
		}
		for _, fault := range faults {
			if fault.Line < 0 || fault.Line > strings.Count(source, "\n")+strings.Count(source, "\r")+1 {
				t.Errorf("line %d of %d: %+v", fault.Line, strings.Count(source, "\n")+1, fault)
			}
		}
	})
}
