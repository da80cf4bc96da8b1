package mastodon_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"colophon/internal/channel/channeltest"
	"colophon/internal/channel/mastodon"
	"colophon/internal/permit"
	"colophon/internal/sandbox"
	server "colophon/internal/sandbox/channels/mastodon"
	"colophon/internal/sandbox/fault"
	"colophon/publish"
)

func bench(o server.Options) channeltest.Bench {
	return channeltest.Bench{
		Open: func(t *testing.T, w *sandbox.World, bad bool) channeltest.Channel {
			return open(t, w, bad, mastodon.Options{})
		},
		Faults: func(w *sandbox.World) *fault.Layer { return w.MastodonFaults },
		Port:   func(w *sandbox.World) *fault.Port { return w.MastodonPort },
		Count:  func(w *sandbox.World) int { return len(w.Mastodon.Statuses()) },
		Reads:  func(w *sandbox.World) int { return w.Mastodon.Reads() },
		Secret: sandbox.MastodonToken, Mastodon: o,
	}
}

func open(t *testing.T, w *sandbox.World, bad bool, o mastodon.Options) channeltest.Channel {
	t.Helper()
	token := sandbox.MastodonToken
	if bad {
		token = "wrong"
	}
	o.Name, o.Server = "mastodon", w.MastodonPort.URL()
	if o.Account == "" {
		o.Account = sandbox.Account
	}
	c, err := mastodon.New(channeltest.Client(token), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestContract(t *testing.T) {
	for name, o := range map[string]server.Options{"current": {}, "ignores keys": {IgnoresKeys: true}} {
		t.Run(name, func(t *testing.T) { channeltest.Run(t, bench(o)) })
	}
}

func world(t *testing.T) *sandbox.World {
	t.Helper()
	w, err := sandbox.Start(sandbox.Options{Dir: t.TempDir() + "/blog.git"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

func prepare(t *testing.T, w *sandbox.World, o mastodon.Options) publish.Effect {
	t.Helper()
	e, err := open(t, w, false, o).Prepare(context.Background(), channeltest.Announcement(w))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestChecksComeBeforeTheRequest(t *testing.T) {
	w := world(t)
	for want, c := range map[publish.Condition]struct {
		o      mastodon.Options
		change func(*publish.Announcement)
	}{
		"text_too_long": {mastodon.Options{}, func(a *publish.Announcement) { a.Title = strings.Repeat("é", 476) }},
		"surprise_link": {mastodon.Options{Template: "{description} {url}"}, func(a *publish.Announcement) { a.Description = "see https://evil.example/" }},
		"wrong_account": {mastodon.Options{Account: "somebody"}, func(*publish.Announcement) {}},
	} {
		a := channeltest.Announcement(w)
		c.change(&a)
		_, err := open(t, w, false, c.o).Prepare(context.Background(), a)
		if got := publish.AsTrouble(err); got.Kind != publish.Halted || got.Condition != want || got.Next == "" {
			t.Errorf("%s: %v", want, err)
		}
	}
	fits := channeltest.Announcement(w)
	fits.Title = strings.Repeat("é", 475) // and two line ends, and a link that counts as 23
	if _, err := open(t, w, false, mastodon.Options{}).Prepare(context.Background(), fits); err != nil {
		t.Errorf("a text of exactly 500: %v", err)
	}
	if n := len(w.Mastodon.Statuses()); n != 0 {
		t.Errorf("%d posts", n)
	}
}

func TestOwnPostsAreReadBackWhole(t *testing.T) {
	w := world(t)
	e := prepare(t, w, mastodon.Options{})
	begun := time.Now()
	if _, err := e.Apply(permit.Grant(context.Background()), publish.Prior{}); err != nil {
		t.Fatal(err)
	}
	for n := range 100 { // which pushes ours to the third page
		w.Mastodon.Add(fmt.Sprintf("other %d https://example.org/%d", n, n), time.Now())
	}
	prior := publish.Prior{State: publish.Unconfirmed, Attempts: 1, First: begun}
	if f, err := e.Find(context.Background(), prior); err != nil || f.Presence != publish.Present || f.Receipt.ID != w.Mastodon.Statuses()[0].ID {
		t.Errorf("%+v, %v", f, err)
	}
	short := prepare(t, w, mastodon.Options{PageLimit: 2})
	if f, err := short.Find(context.Background(), prior); err != nil || f.Presence != publish.Incomplete {
		t.Errorf("with a limit of two pages: %+v, %v", f, err)
	}
	w.Mastodon.Add("By hand: "+channeltest.Announcement(w).URL, time.Now())
	if f, err := e.Find(context.Background(), prior); err != nil || f.Presence != publish.Several {
		t.Errorf("two posts for the article: %+v, %v", f, err)
	}
}

func TestAnOldPostOfTheSameLinkIsNotTakenForOurs(t *testing.T) {
	w := world(t)
	w.Mastodon.Add("Years ago: "+channeltest.Announcement(w).URL, time.Now().Add(-1000*time.Hour))
	e := prepare(t, w, mastodon.Options{})
	f, err := e.Find(context.Background(), publish.Prior{State: publish.Unconfirmed, Attempts: 1, First: time.Now()})
	if err != nil || f.Presence != publish.Absent {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestAnotherKeyFollowsOnlyADefiniteRejection(t *testing.T) {
	w := world(t)
	e := prepare(t, w, mastodon.Options{})
	for _, prior := range []publish.Prior{{}, {State: publish.Unconfirmed, Attempts: 1}} {
		if _, err := e.Apply(permit.Grant(context.Background()), prior); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(w.Mastodon.Statuses()); n != 1 {
		t.Errorf("the same key made %d posts", n)
	}
	if _, err := e.Apply(permit.Grant(context.Background()), publish.Prior{State: publish.Failed, Attempts: 1, Rejections: 1}); err != nil {
		t.Fatal(err)
	}
	if n := len(w.Mastodon.Statuses()); n != 2 {
		t.Errorf("after a rejection the key stayed: %d posts", n)
	}
}

// TestAReceiptIsLookedAtByItsID: a person's receipt is believed when that very post is the announcement.
func TestAReceiptIsLookedAtByItsID(t *testing.T) {
	w := world(t)
	e := prepare(t, w, mastodon.Options{})
	url := channeltest.Announcement(w).URL
	ours, other := w.Mastodon.Add("By hand, long ago: "+url, time.Now().Add(-1000*time.Hour)), w.Mastodon.Add("Lunch", time.Now())
	for id, want := range map[string]publish.Presence{ours.ID: publish.Present, other.ID: publish.Foreign, "1": publish.Absent, "../../x": publish.Absent} {
		f, err := e.Find(context.Background(), publish.Prior{State: publish.Unconfirmed, Attempts: 1, Receipt: publish.Receipt{ID: id}})
		if err != nil || f.Presence != want || len(f.Evidence) != 1 || (want == publish.Present) == f.Receipt.Empty() {
			t.Errorf("%s: %+v, %v; want %s", id, f, err, want)
		}
	}
}
