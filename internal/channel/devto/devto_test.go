package devto_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"colophon/internal/channel"
	"colophon/internal/channel/channeltest"
	"colophon/internal/channel/devto"
	"colophon/internal/permit"
	server "colophon/internal/sandbox/channels/devto"
	"colophon/internal/wire"
	"colophon/publish"
)

const (
	key   = "a-key-of-the-test"
	owner = "press"
)

func TestContract(t *testing.T) {
	channeltest.Run(t, channeltest.Bench{
		Server: func(t *testing.T) *channeltest.Server { s, _ := serve(t, server.Options{}); return s },
		Secret: key,
	})
}

func serve(t *testing.T, o server.Options) (*channeltest.Server, *server.Server) {
	t.Helper()
	o.Username, o.Key = owner, key
	remote := server.New(o)
	s := channeltest.Serve(t, remote)
	s.Path = "^/api/articles"
	s.Count, s.Reads = func() int { return len(remote.Articles()) }, remote.Reads
	s.Post = func(_ *testing.T, url string) publish.Receipt {
		return publish.Receipt{ID: id(remote.Add("By hand", url, false))}
	}
	s.Delete = func(_ *testing.T, id string) { remote.Delete(id) }
	s.Open = func(t *testing.T, o channel.Options, bad bool) channel.Channel {
		t.Helper()
		given := key
		if bad {
			given = "wrong"
		}
		o.Name = "devto"
		if o.Account == "" {
			o.Account = owner
		}
		c, err := devto.New(wire.New(wire.Options{Authorize: func(r *http.Request) { r.Header.Set("api-key", given) }}), devto.Options{Options: o, Server: s.Port.URL()})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	return s, remote
}

func id(a server.Article) string {
	raw, _ := json.Marshal(a.ID)
	return string(raw)
}

// effect is the announcement's, as another process would have it.
func effect(t *testing.T, s *channeltest.Server, change ...func(*publish.Announcement)) publish.Effect {
	t.Helper()
	c, a := s.Open(t, channel.Options{}, false), channeltest.Announcement(s)
	for _, f := range change {
		f(&a)
	}
	m, err := c.Compose(context.Background(), a)
	if err != nil {
		t.Fatal(err)
	}
	e, err := c.Effect(context.Background(), m)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func send(t *testing.T, e publish.Effect) publish.Receipt {
	t.Helper()
	r, err := e.Apply(permit.Grant(context.Background()), publish.Prior{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func look(t *testing.T, e publish.Effect, prior publish.Prior, want publish.Presence, condition publish.Condition) publish.Finding {
	t.Helper()
	f, err := e.Find(context.Background(), prior)
	if err != nil || f.Presence != want || f.Condition != condition {
		t.Fatalf("%+v, %v; want %s %s", f, err, want, condition)
	}
	return f
}

// TestACanonicalURLThatIsTakenProvesNothing: it may be our own article, whose answer was lost, or somebody else's
// (forem#9759).
func TestACanonicalURLThatIsTakenProvesNothing(t *testing.T) {
	for _, other := range []bool{false, true} {
		s, remote := serve(t, server.Options{})
		remote.Add("Look", channeltest.Announcement(s).URL, other)
		e := effect(t, s)
		_, err := e.Apply(permit.Grant(context.Background()), publish.Prior{})
		got := publish.AsTrouble(err)
		if got.Kind != publish.Unknown || got.Condition != "canonical_url_taken" {
			t.Fatalf("%s %s: %v", got.Kind, got.Condition, err)
		}
		prior := publish.Prior{State: publish.Unconfirmed, Attempts: 1, Condition: got.Condition}
		if other {
			look(t, e, prior, publish.Foreign, "canonical_url_of_another")
		} else if f := look(t, e, prior, publish.Present, ""); f.Receipt.URL == "" {
			t.Errorf("%+v", f)
		}
	}
}

// TestADraftThatWasLeftBehindIsForAPerson: a refused article has left one (forem#16664).
func TestADraftThatWasLeftBehindIsForAPerson(t *testing.T) {
	s, remote := serve(t, server.Options{Orphans: true})
	taken := remote.Add("Look", channeltest.Announcement(s).URL, true)
	e := effect(t, s)
	_, err := e.Apply(permit.Grant(context.Background()), publish.Prior{})
	if publish.AsTrouble(err).Kind != publish.Unknown {
		t.Fatal(err)
	}
	remote.Delete(id(taken))
	f := look(t, e, publish.Prior{State: publish.Unconfirmed, Attempts: 1}, publish.Foreign, "orphan_draft")
	if !strings.Contains(f.Detail, "delete it") {
		t.Errorf("%+v", f)
	}
}

// TestACorrectionUpdatesTheArticleInPlace: there is one article before and after.
func TestACorrectionUpdatesTheArticleInPlace(t *testing.T) {
	s, remote := serve(t, server.Options{})
	first := send(t, effect(t, s))
	again := func(a *publish.Announcement) {
		a.Intent.Revision, a.Markdown, a.Previous = 2, "Look twice.\n", first
	}
	e := effect(t, s, again)
	if op := e.Operation(); op.What != publish.Update || op.Revision != 2 {
		t.Errorf("%+v", op)
	}
	look(t, e, publish.Prior{Attempts: 1}, publish.Absent, "")
	if r := send(t, e); r.ID != first.ID || r.URL != first.URL {
		t.Errorf("%+v, it was %+v", r, first)
	}
	if all := remote.Articles(); len(all) != 1 || all[0].Body != "Look twice.\n" || remote.Updates() != 1 {
		t.Errorf("%+v", all)
	}
	look(t, e, publish.Prior{Attempts: 1}, publish.Present, "")
	remote.Delete(first.ID)
	look(t, e, publish.Prior{Attempts: 1}, publish.Foreign, "article_gone")
}

func TestWhatDEVWouldReadAsItsOwnIsRefused(t *testing.T) {
	s, remote := serve(t, server.Options{})
	c := s.Open(t, channel.Options{}, false)
	for markdown, want := range map[string]publish.Condition{
		"---\ntitle: Mine\n---\n":                          "front_matter",
		"Look: {% youtube x %}":                            "liquid_tag",
		"Look: `{% raw %}`\n\n```\n{% include x %}\n```\n": "",
	} {
		a := channeltest.Announcement(s)
		a.Markdown = markdown
		_, err := c.Compose(context.Background(), a)
		if got := publish.AsTrouble(err); (err != nil || want != "") && (got.Condition != want || got.Kind != publish.Halted || got.Next == "") {
			t.Errorf("%q: %v, want %q", markdown, err, want)
		}
	}
	a := channeltest.Announcement(s)
	a.Title = strings.Repeat("é", 129)
	if _, err := c.Compose(context.Background(), a); publish.AsTrouble(err).Condition != "text_too_long" {
		t.Errorf("%v", err)
	}
	if n := len(remote.Articles()); n != 0 {
		t.Errorf("%d articles", n)
	}
}

func TestTheArticleIsWhole(t *testing.T) {
	s, remote := serve(t, server.Options{})
	send(t, effect(t, s, func(a *publish.Announcement) {
		a.Tags = []string{"Go", "exactly-once", "日本", "a", "b", "c"}
		a.Markdown = "![A](/img/a.png) and [b](https://b.example/) and `](/c)`\n"
	}))
	got := remote.Articles()[0]
	if want := "![A](https://blog.example/img/a.png) and [b](https://b.example/) and `](/c)`\n"; got.Body != want {
		t.Errorf("%q", got.Body)
	}
	if strings.Join(got.Tags, " ") != "go exactlyonce a b" || got.Canonical != channeltest.Announcement(s).URL {
		t.Errorf("%+v", got)
	}
}

// TestADraftThatWaitedLongDoesNotEndTheReading: its number is small, and it was published since.
func TestADraftThatWaitedLongDoesNotEndTheReading(t *testing.T) {
	var clock time.Time
	s, remote := serve(t, server.Options{Now: func() time.Time { return clock }})
	clock = time.Now().Add(-time.Hour)
	old := remote.Add("Old", "https://elsewhere.example/old", false)
	clock = time.Now()
	e := effect(t, s, func(a *publish.Announcement) { a.Newest, a.Made = id(old), clock.Add(-time.Minute) })
	send(t, e)
	look(t, e, publish.Prior{Attempts: 1}, publish.Present, "")
}
