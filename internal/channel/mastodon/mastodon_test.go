package mastodon_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"colophon/internal/channel"
	"colophon/internal/channel/channeltest"
	"colophon/internal/channel/mastodon"
	"colophon/internal/permit"
	server "colophon/internal/sandbox/channels/mastodon"
	"colophon/internal/wire"
	"colophon/publish"
)

const (
	token = "a-token-of-the-test"
	owner = "press"
)

var makes = []server.Make{server.Current, server.Racing, server.Replay500, server.Pleroma, server.GoToSocial}

func TestContract(t *testing.T) {
	for _, m := range makes {
		t.Run("make "+string(m), func(t *testing.T) {
			channeltest.Run(t, channeltest.Bench{
				Server: func(t *testing.T) *channeltest.Server { s, _ := serve(t, m); return s },
				Secret: token,
			})
		})
	}
}

func serve(t *testing.T, m server.Make) (*channeltest.Server, *server.Server) {
	t.Helper()
	remote := server.New(server.Options{Account: owner, Token: token, Make: m})
	s := channeltest.Serve(t, remote)
	s.Path = "/api/v1/statuses"
	s.Count, s.Reads = func() int { return len(remote.Statuses()) }, remote.Reads
	s.Post = func(_ *testing.T, url string) publish.Receipt {
		st := remote.Add("By hand: "+url, time.Now())
		return publish.Receipt{ID: st.ID}
	}
	s.Delete = func(_ *testing.T, id string) { remote.Delete(id) }
	s.Open = func(t *testing.T, o channel.Options, bad bool) channel.Channel {
		t.Helper()
		given := token
		if bad {
			given = "wrong"
		}
		o.Name = "mastodon"
		if o.Account == "" {
			o.Account = owner
		}
		client := wire.New(wire.Options{Authorize: func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+given) }})
		c, err := mastodon.New(client, mastodon.Options{Options: o, Server: s.Port.URL()})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	return s, remote
}

// effect is the announcement's, as another process would have it.
func effect(t *testing.T, s *channeltest.Server) publish.Effect {
	t.Helper()
	c := s.Open(t, channel.Options{}, false)
	m, err := c.Compose(context.Background(), channeltest.Announcement(s))
	if err != nil {
		t.Fatal(err)
	}
	e, err := c.Effect(context.Background(), m)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestLengthIsCountedByTheServersRule(t *testing.T) {
	s, remote := serve(t, server.Current)
	a := channeltest.Announcement(s)
	a.Title = strings.Repeat("é", 475) // and two line ends, and a link that counts as 23
	if _, err := s.Open(t, channel.Options{}, false).Compose(context.Background(), a); err != nil {
		t.Errorf("a text of exactly 500: %v", err)
	}
	a.Title += "é"
	_, err := s.Open(t, channel.Options{}, false).Compose(context.Background(), a)
	if got := publish.AsTrouble(err); got.Kind != publish.Halted || got.Condition != "text_too_long" || got.Next == "" {
		t.Errorf("%v", err)
	}
	if n := len(remote.Statuses()); n != 0 {
		t.Errorf("%d posts", n)
	}
}

// TestTierIsFoundPerServer: not every server that speaks Mastodon's API keeps Idempotency-Keys
// (gotosocial#2723).
func TestTierIsFoundPerServer(t *testing.T) {
	for m, want := range map[server.Make]string{server.Current: "key", server.Racing: "key", server.Replay500: "key", server.Pleroma: "own posts", server.GoToSocial: "own posts"} {
		s, _ := serve(t, m)
		got, err := s.Open(t, channel.Options{}, false).Compose(context.Background(), channeltest.Announcement(s))
		if err != nil || !strings.HasPrefix(got.Tier, want) {
			t.Errorf("%q: %q, %v; want %s", m, got.Tier, err, want)
		}
	}
}

func TestTwoPostsForOneArticleAreForAPerson(t *testing.T) {
	s, remote := serve(t, server.Current)
	e := effect(t, s)
	if _, err := e.Apply(permit.Grant(context.Background()), publish.Prior{}); err != nil {
		t.Fatal(err)
	}
	remote.Add("By hand: "+channeltest.Announcement(s).URL, time.Now())
	f, err := e.Find(context.Background(), publish.Prior{State: publish.Unconfirmed, Attempts: 1, First: time.Now()})
	if err != nil || f.Presence != publish.Several {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestAnOldPostOfTheSameLinkIsNotTakenForOurs(t *testing.T) {
	s, remote := serve(t, server.Current)
	remote.Add("Years ago: "+channeltest.Announcement(s).URL, time.Now().Add(-1000*time.Hour))
	f, err := effect(t, s).Find(context.Background(), publish.Prior{State: publish.Unconfirmed, Attempts: 1, First: time.Now()})
	if err != nil || f.Presence != publish.Absent {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestAnotherKeyFollowsOnlyADefiniteRejection: a key stays with its operation, but servers that keep refusals too
// would answer it with the refusal for ever.
func TestAnotherKeyFollowsOnlyADefiniteRejection(t *testing.T) {
	s, remote := serve(t, server.Current)
	e := effect(t, s)
	for _, prior := range []publish.Prior{{}, {State: publish.Unconfirmed, Attempts: 1}} {
		if _, err := e.Apply(permit.Grant(context.Background()), prior); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(remote.Statuses()); n != 1 {
		t.Errorf("the same key made %d posts", n)
	}
	if _, err := e.Apply(permit.Grant(context.Background()), publish.Prior{State: publish.Failed, Attempts: 1, Rejections: 1}); err != nil {
		t.Fatal(err)
	}
	if n := len(remote.Statuses()); n != 2 {
		t.Errorf("after a rejection the key stayed: %d posts", n)
	}
}

// TestAReplayThatIsAnsweredWith500IsFound: Mastodon 4.6.1 answers a key's second request so (mastodon#40399).
func TestAReplayThatIsAnsweredWith500IsFound(t *testing.T) {
	s, remote := serve(t, server.Replay500)
	e := effect(t, s)
	if _, err := e.Apply(permit.Grant(context.Background()), publish.Prior{}); err != nil {
		t.Fatal(err)
	}
	_, err := e.Apply(permit.Grant(context.Background()), publish.Prior{State: publish.Unconfirmed, Attempts: 1})
	if got := publish.AsTrouble(err); got.Kind != publish.Unknown {
		t.Fatalf("%s: %v", got.Kind, err)
	}
	f, err := e.Find(context.Background(), publish.Prior{State: publish.Unconfirmed, Attempts: 2, First: time.Now()})
	if posts := remote.Statuses(); err != nil || f.Presence != publish.Present || len(posts) != 1 || f.Receipt.ID != posts[0].ID {
		t.Errorf("%+v, %v; %d posts", f, err, len(posts))
	}
}

// TestTheKeyAloneDoesNotKeepPostsApart shows why no second request is made while one is under way: servers have
// made two posts of two requests with one key (mastodon#37879).
func TestTheKeyAloneDoesNotKeepPostsApart(t *testing.T) {
	s, remote := serve(t, server.Racing)
	e := effect(t, s)
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() { _, _ = e.Apply(permit.Grant(context.Background()), publish.Prior{}) })
	}
	both.Wait()
	if n := len(remote.Statuses()); n != 2 {
		t.Errorf("%d posts: the server does not race", n)
	}
	f, err := e.Find(context.Background(), publish.Prior{State: publish.Unconfirmed, Attempts: 1, First: time.Now()})
	if err != nil || f.Presence != publish.Several {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestAReceiptIsLookedAtByItsID: a person's receipt is believed when that very post is the announcement.
func TestAReceiptIsLookedAtByItsID(t *testing.T) {
	s, remote := serve(t, server.Current)
	e := effect(t, s)
	url := channeltest.Announcement(s).URL
	ours, other := remote.Add("By hand, long ago: "+url, time.Now().Add(-1000*time.Hour)), remote.Add("Lunch", time.Now())
	for id, want := range map[string]publish.Presence{ours.ID: publish.Present, other.ID: publish.Foreign, "1": publish.Absent, "../../x": publish.Absent} {
		f, err := e.Find(context.Background(), publish.Prior{State: publish.Unconfirmed, Attempts: 1, Receipt: publish.Receipt{ID: id}})
		if err != nil || f.Presence != want || len(f.Evidence) != 1 || (want == publish.Present) == f.Receipt.Empty() {
			t.Errorf("%s: %+v, %v; want %s", id, f, err, want)
		}
	}
}
