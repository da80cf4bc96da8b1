package publish

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gowebpki/jcs"
)

func intent() Intent {
	return Intent{
		Key: "media-001:2026-10-04:idempotency", Topic: "Idempotency in publishing", Slug: "idempotency", Date: "2026-10-04",
		Repository: "acme/blog", BaseBranch: "main", Revision: 1,
		Path: "posts/idempotency.md", URL: "https://example.org/posts/idempotency/", Draft: "drafts/idempotency.md", Channels: []string{"indexnow"},
	}
}

func TestIntentRefusesWhatCannotBePublishedSafely(t *testing.T) {
	if err := intent().Check(); err != nil {
		t.Fatalf("a good intent is refused: %v", err)
	}
	for name, change := range map[string]func(*Intent){
		"date":       func(i *Intent) { i.Date = "2026-10-05" },
		"topic":      func(i *Intent) { i.Topic = "two\nlines" },
		"slug":       func(i *Intent) { i.Slug = "../secrets" },
		"slug con":   func(i *Intent) { i.Slug = "con" },
		"slug com1":  func(i *Intent) { i.Slug = "com1" },
		"slug case":  func(i *Intent) { i.Slug = "Idempotency" },
		"repository": func(i *Intent) { i.Repository = "acme" },
		"branch":     func(i *Intent) { i.BaseBranch = "a..b" },
		"revision":   func(i *Intent) { i.Revision = 0 },
		"correction": func(i *Intent) { i.Revision = 1001 },
		"link":       func(i *Intent) { i.Links = []string{"javascript:alert(1)"} },
		"link space": func(i *Intent) { i.Links = []string{"https://example.org/a b"} },
		"repost":     func(i *Intent) { i.Revision, i.Repost = 2, []string{"elsewhere"} },
		"path up":    func(i *Intent) { i.Path = "posts/../../x.md" },
		"path abs":   func(i *Intent) { i.Path = "/etc/passwd" },
		"path git":   func(i *Intent) { i.Path = ".GIT/config" },
		"path colon": func(i *Intent) { i.Path = "posts/a:b.md" },
		"path aux":   func(i *Intent) { i.Path = "posts/aux.md" },
		"path dot":   func(i *Intent) { i.Path = "posts./x.md" },
		"url":        func(i *Intent) { i.URL = "javascript:alert(1)" },
		"url user":   func(i *Intent) { i.URL = "https://user:secret@example.org/" },
		"url query":  func(i *Intent) { i.URL = "https://example.org/?p=1" },
	} {
		in := intent()
		change(&in)
		if in.Check() == nil {
			t.Errorf("%s: accepted %+v", name, in)
		}
	}
}

func TestFingerprintIsOverCanonicalJSONOfTheBindingInputs(t *testing.T) {
	in := intent()
	was := in.Fingerprint()
	for name, change := range map[string]func(*Intent){
		"topic": func(i *Intent) { i.Topic += "!" }, "slug": func(i *Intent) { i.Slug += "x" }, "date": func(i *Intent) { i.Date = "2026-10-05" },
		"repository": func(i *Intent) { i.Repository += "x" }, "base_branch": func(i *Intent) { i.BaseBranch += "x" },
	} {
		other := intent()
		change(&other)
		if other.Fingerprint() == was {
			t.Errorf("%s does not change the fingerprint", name)
		}
		d := Differences(in, other)
		if len(d) != 1 || d[0].Field != name {
			t.Errorf("Differences for %s = %v", name, d)
		}
		err := (&ConflictError{in.Key, d}).Error()
		if !strings.Contains(err, name) || !strings.Contains(err, d[0].Bound) || !strings.Contains(err, d[0].Asked) {
			t.Errorf("the conflict does not name field and both values: %s", err)
		}
	}
	in.Path, in.URL, in.Draft, in.Channels, in.Revision = "x", "https://x", "y", nil, 2
	if in.Fingerprint() != was {
		t.Error("the fingerprint depends on something that does not bind")
	}
}

// FuzzCanonicalJSON compares with an independent implementation of RFC 8785.
func FuzzCanonicalJSON(f *testing.F) {
	f.Add("plain", "other")
	f.Add("quote\" back\\slash /", "\x00\x1f\b\f\n\r\t\u2028\u007f")
	f.Add("é, e\u0301, 😀", "<script>&amp;")
	f.Fuzz(func(t *testing.T, topic, slug string) {
		topic, slug = strings.ToValidUTF8(topic, "\ufffd"), strings.ToValidUTF8(slug, "\ufffd")
		in := intent()
		in.Topic, in.Slug = topic, slug
		members := map[string]string{}
		for _, m := range in.Inputs() {
			members[m.Field] = m.Value
		}
		raw, err := json.Marshal(members)
		if err != nil {
			t.Fatal(err)
		}
		want, err := jcs.Transform(raw)
		if err != nil {
			t.Skip(err)
		}
		if got := CanonicalJSON(in.Inputs()); got != string(want) {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
	})
}

func TestOperationKeyComesFromDestinationContentAndRevisionAlone(t *testing.T) {
	op := Operation{What: "post", Intent: "k", Destination: "mastodon:example.org/1", ContentID: "media-001:2026-10-04:idempotency", Revision: 1}
	if got := op.Key(); len(got) != 64 {
		t.Fatalf("key %s, want 64 digits", got)
	}
	same := op
	same.What, same.Intent, same.Text, same.Account, same.Channel = "x", "y", "z", "a", "b"
	if same.Key() != op.Key() {
		t.Error("the key depends on more than destination, content and revision")
	}
	for _, change := range []func(*Operation){
		func(o *Operation) { o.Destination += "2" }, func(o *Operation) { o.ContentID += "2" }, func(o *Operation) { o.Revision = 2 },
	} {
		other := op
		change(&other)
		if other.Key() == op.Key() {
			t.Errorf("the key is the same for %+v", other)
		}
	}
}

func TestMarksIdentifyTheIntentAndItsInputs(t *testing.T) {
	in, p := intent(), Plan{Title: "Idempotency"}
	other := intent()
	other.Topic = "something else"
	if !in.HasMarker(in.PullRequestBody(p)) || other.HasMarker(in.PullRequestBody(p)) {
		t.Error("the pull request's marker does not tell the intents apart")
	}
	for _, message := range []string{in.CommitMessage(p), "Merge it\n\n" + in.MergeMessage(), strings.ReplaceAll(in.CommitMessage(p), "\n", "\r\n")} {
		if !in.HasTrailers(message) || other.HasTrailers(message) {
			t.Errorf("the trailers do not tell the intents apart: %q", message)
		}
	}
	second := intent()
	second.Revision = 2
	if second.HasTrailers(in.CommitMessage(p)) || second.Branch() == in.Branch() {
		t.Error("a correction is taken for the first publication")
	}
}
