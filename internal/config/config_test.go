package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"colophon/internal/calendar"
	"colophon/internal/strictyaml"
)

func example(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile("../../examples/colophon.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestTheExampleIsGood(t *testing.T) {
	c, err := Load("../../examples/colophon.yaml")
	if err != nil {
		t.Fatal(err)
	}
	cal, err := calendar.Read(c.Calendar)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range cal.Entries {
		in, err := c.Intent(e)
		if err != nil || in.Path != "posts/"+e.Slug+".md" || string(in.URL) != "https://example.org/posts/"+e.Slug+"/" || len(in.Channels) != 5 {
			t.Errorf("%+v, %v", in, err)
		}
		if _, err := os.Stat(in.Draft); err != nil {
			t.Error(err)
		}
	}
}

func TestFaultsAreToldWithTheirLine(t *testing.T) {
	lines := strings.Split(example(t), "\n")
	line := func(part string) int {
		for n, l := range lines {
			if strings.Contains(l, part) {
				return n + 1
			}
		}
		t.Fatalf("no %q in the example", part)
		return 0
	}
	for name, c := range map[string]struct{ old, put, want string }{
		"unknown key":        {"  title: The Example", "  titel: The Example", "unknown field"},
		"unknown part":       {"calendar: calendar.yaml", "calender: calendar.yaml", "unknown field"},
		"not a number":       {"  budget: 3 ", "  budget: many", "type int"},
		"out of range":       {"  budget: 3 ", "  budget: 99 ", "budget from 1 to 10"},
		"http":               {"  index: https://example.org/", "  index: http://example.org/", "want https"},
		"template":           {"  path: posts/{slug}.md", "  path: posts/fixed.md", "no {slug}"},
		"path out":           {"  path: posts/{slug}.md", "  path: ../{slug}.md", "relative path inside"},
		"merge method":       {"  merge_method: merge", "  merge_method: octopus", "merge, squash or rebase"},
		"hurried writes":     {"  write_gap: 1s", "  write_gap: 10ms", "at least 1s"},
		"another's field":    {"    key_location: https://example.org/indexnow-key.txt", "    template: \"{url}\"\n    key_location: https://example.org/indexnow-key.txt", "does not belong"},
		"channel kind":       {"    kind: indexnow", "    kind: telegraph", "want one of bluesky, devto, indexnow, mastodon, x"},
		"secret in the file": {"  token: {env: GITHUB_TOKEN}", "  token: ghp_abcdefghijklmnop", "mapping is expected"},
		"secret twice":       {"  token: {env: GITHUB_TOKEN}", "  token: {env: A, file: b}", "want where the secret is"},
		"another database":   {"ledger: colophon.db", "ledger: mysql://colophon@db.example.org/colophon", "postgres://USER@HOST/DATABASE"},
		"ledger's password":  {"ledger: colophon.db", "ledger: postgres://colophon:ghp_abcdefghijklmnop@db.example.org/colophon", "holds a password"},
		"hidden password":    {"ledger: colophon.db", "ledger: postgres://db.example.org/colophon?password=ghp_abcdefghijklmnop", "holds a password"},
		"duplicate key":      {"  base: main", "  name: other/blog", "name"},
	} {
		source := strings.Replace(example(t), c.old, c.put, 1)
		_, err := Parse("colophon.yaml", []byte(source))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
			continue
		}
		at := line(c.old)
		near := false
		for _, one := range flatten(err) {
			near = near || one.File == "colophon.yaml" && one.Line >= at-6 && one.Line <= at
		}
		if !near {
			t.Errorf("%s: %v, want line %d", name, err, at)
		}
		if strings.Contains(err.Error(), "ghp_") {
			t.Errorf("%s: the error tells the secret: %v", name, err)
		}
	}
}

func flatten(err error) []*strictyaml.Error {
	if e, ok := err.(*strictyaml.Error); ok {
		return []*strictyaml.Error{e}
	}
	var out []*strictyaml.Error
	if j, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range j.Unwrap() {
			out = append(out, flatten(e)...)
		}
	}
	return out
}

// TestARequestIsLeftTheTimeToArrive: hurried looks are for this machine alone; a remote channel is as far away as a
// remote repository.
func TestARequestIsLeftTheTimeToArrive(t *testing.T) {
	hurried := strings.Replace(example(t), "  quiet_period: 60s", "  quiet_period: 5s", 1)
	here := strings.NewReplacer("  base: main", "  base: main\n  api: http://127.0.0.1:1/", "https://api.indexnow.org/", "http://127.0.0.1:2/", "https://mastodon.example", "http://mastodon.localhost:3",
		"kind: bluesky", "kind: bluesky\n    server: http://127.0.0.1:4", "kind: devto", "kind: devto\n    server: http://127.0.0.1:5", "kind: x", "kind: x\n    server: http://127.0.0.1:6").Replace(hurried)
	if _, err := Parse("colophon.yaml", []byte(here)); err != nil {
		t.Errorf("all on this machine: %v", err)
	}
	for name, source := range map[string]string{
		"remote repository": hurried,
		"remote channel":    strings.Replace(here, "http://mastodon.localhost:3", "https://mastodon.example", 1),
	} {
		if _, err := Parse("colophon.yaml", []byte(source)); err == nil || !strings.Contains(err.Error(), "at least 45s") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTwoChannelsOnOneAccountAreRefused(t *testing.T) {
	for server, account := range map[string]string{
		"https://mastodon.example": "press", "https://Mastodon.Example/": "press", "https://mastodon.example:443": "@Press@mastodon.example",
	} {
		source := strings.Replace(example(t), "\npolicy:", "  again:\n    kind: mastodon\n    server: "+server+"\n    account: \""+account+"\"\n    token: {env: X}\n\npolicy:", 1)
		if _, err := Parse("c.yaml", []byte(source)); err == nil || !strings.Contains(err.Error(), "same account") {
			t.Errorf("%s %s: %v", server, account, err)
		}
	}
	unknown := strings.Replace(example(t), "\npolicy:", "  a: {kind: telegraph}\n  b: {kind: pigeon}\n\npolicy:", 1)
	if _, err := Parse("c.yaml", []byte(unknown)); err == nil || strings.Contains(err.Error(), "same account") {
		t.Errorf("two unknown kinds: %v", err)
	}
}

func TestSecretFilesStartAtTheConfiguration(t *testing.T) {
	source := strings.Replace(example(t), "token: {env: MASTODON_TOKEN}", "token: {file: secrets/mastodon}", 1)
	c, err := Parse("/etc/colophon/colophon.yaml", []byte(source))
	if err != nil || c.Channels["mastodon"].Token.File != "/etc/colophon/secrets/mastodon" {
		t.Errorf("%v, %v", c, err)
	}
}

func TestSecretsShowNothing(t *testing.T) {
	t.Setenv("COLOPHON_TEST_SECRET", "hunter2\n")
	v, err := Secret{Env: "COLOPHON_TEST_SECRET"}.Read("x")
	if err != nil || v.Reveal() != "hunter2" {
		t.Fatal(err)
	}
	raw, _ := json.Marshal(map[string]any{"v": v})
	for _, s := range []string{fmt.Sprint(v), fmt.Sprintf("%+v %#v %s", v, v, v), string(raw), fmt.Sprint(v.LogValue())} {
		if strings.Contains(s, "hunter2") {
			t.Errorf("shown: %s", s)
		}
	}
	file := filepath.Join(t.TempDir(), "s")
	if _, err := (Secret{File: file}).Read("repository.token"); err == nil || !strings.Contains(err.Error(), "repository.token") {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := (Secret{Env: "COLOPHON_NO_SUCH"}).Read("repository.token"); err == nil || !strings.Contains(err.Error(), "COLOPHON_NO_SUCH is not set") {
		t.Errorf("a missing variable: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	raw, err := os.ReadFile("../../examples/colophon.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add([]byte("site: {title: [}"))
	f.Fuzz(func(_ *testing.T, source []byte) { _, _ = Parse("c.yaml", source) })
}

// TestEveryKindOfChannelSaysWhatItNeeds: each is good with what it needs, and says by name what is missing or is not
// its own.
func TestEveryKindOfChannelSaysWhatItNeeds(t *testing.T) {
	const secret = "{env: SECRET}"
	given := map[string]map[string]string{
		"bluesky":  {"account": "press.example.org", "password": secret},
		"devto":    {"account": "press", "key": secret},
		"indexnow": {"endpoint": "https://api.indexnow.org/indexnow", "key": secret, "key_location": "https://example.org/k.txt"},
		"mastodon": {"server": "https://mastodon.example", "account": "press", "token": secret},
		"x":        {"account": "press", "consumer_key": secret, "consumer_secret": secret, "access_token": secret, "access_secret": secret},
	}
	source, _, _ := strings.Cut(example(t), "channels:\n")
	_, policy, _ := strings.Cut(example(t), "\npolicy:")
	parse := func(kind string, fields map[string]string) error {
		text := source + "channels:\n  one:\n    kind: " + kind + "\n"
		for name, value := range fields {
			text += "    " + name + ": " + value + "\n"
		}
		_, err := Parse("colophon.yaml", []byte(text+"\npolicy:"+policy))
		return err
	}
	for _, kind := range Kinds() {
		if err := parse(kind, given[kind]); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		for name := range given[kind] {
			less := maps.Clone(given[kind])
			delete(less, name)
			if err := parse(kind, less); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s without %s: %v", kind, name, err)
			}
		}
		for field, value := range map[string]string{"zone": "Mars/Olympus", "gap": "-1s", "visiblity": "public"} {
			more := maps.Clone(given[kind])
			more[field] = value
			if err := parse(kind, more); err == nil || !strings.Contains(err.Error(), field) {
				t.Errorf("%s with %s: %v", kind, field, err)
			}
		}
	}
}

func TestAnArticlesURLIsToldFromOthers(t *testing.T) {
	for template, urls := range map[string]map[string]bool{
		"https://example.org/posts/{slug}/": {
			"https://example.org/posts/a/": true, "https://EXAMPLE.org:443/posts/a-b/": true, "https://example.org/posts/a": true, "https://example.org/posts/a.html": true,
			"https://example.org/posts/a/?utm=1": true, "https://example.org/posts/a/index.html": true, "https://example.org/posts/%C3%A9t%C3%A9/": true,
			"https://example.org/posts/": false, "https://example.org/": false, "https://example.org/posts/a/b/": false, "https://example.com/posts/a/": false, "https://example.org/tags/a/": false, "": false,
		},
		"https://example.org/{year}/{month}/{day}/{slug}.html": {
			"https://example.org/2026/10/04/a.html": true, "https://example.org/2026/10/04/a/": true, "https://example.org/2026/10/04/": false, "https://example.org/20/10/04/a.html": false,
		},
		"https://example.org/?p={slug}": {"https://example.org/?p=7": true, "https://example.org/?q=7": false},
	} {
		c := Config{Site: Site{Article: template}}
		for u, want := range urls {
			if got := c.IsArticle(u); got != want {
				t.Errorf("%s is an article's form; %s: %v", template, u, got)
			}
		}
	}
}
