package x_test

import (
	"context"
	"testing"
	"time"

	"colophon/internal/channel"
	"colophon/internal/channel/channeltest"
	"colophon/internal/channel/x"
	"colophon/internal/permit"
	server "colophon/internal/sandbox/channels/x"
	"colophon/internal/wire"
	"colophon/publish"
)

const (
	secret = "an-access-secret-of-the-test"
	owner  = "press"
)

func TestContract(t *testing.T) {
	channeltest.Run(t, channeltest.Bench{
		Server: func(t *testing.T) *channeltest.Server { s, _ := serve(t); return s },
		Secret: secret,
	})
}

func serve(t *testing.T) (*channeltest.Server, *server.Server) {
	t.Helper()
	remote := server.New(server.Options{Username: owner, ConsumerKey: "ck", ConsumerSecret: "cs", AccessToken: "at", AccessSecret: secret})
	s := channeltest.Serve(t, remote)
	s.Path = "^/2/tweets$"
	s.Count, s.Reads = func() int { return len(remote.Posts()) }, remote.Reads
	s.Post = func(_ *testing.T, url string) publish.Receipt {
		return publish.Receipt{ID: remote.Add("By hand: "+url, time.Now()).ID}
	}
	s.Delete = func(_ *testing.T, id string) { remote.Delete(id) }
	s.Open = func(t *testing.T, o channel.Options, bad bool) channel.Channel {
		t.Helper()
		keys := x.Keys{ConsumerKey: "ck", ConsumerSecret: "cs", AccessToken: "at", AccessSecret: secret}
		if bad {
			keys.AccessSecret = "wrong"
		}
		o.Name = "x"
		if o.Account == "" {
			o.Account = owner
		}
		c, err := x.New(wire.New(wire.Options{}), x.Options{Options: o, Server: s.Port.URL(), Keys: keys})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	return s, remote
}

func effect(t *testing.T, s *channeltest.Server) publish.Effect {
	t.Helper()
	c, a := s.Open(t, channel.Options{}, false), channeltest.Announcement(s)
	a.Title = "Look & <act>"
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

// TestADuplicateTextMayBeOurOwnPost: X says no more than that it is one. The post is found by what its short links lead
// to, though it is older than the first attempt that is known.
func TestADuplicateTextMayBeOurOwnPost(t *testing.T) {
	s, remote := serve(t)
	remote.Add("Look & <act>\n\n"+channeltest.Announcement(s).URL, time.Now().Add(-20*time.Hour))
	e := effect(t, s)
	_, err := e.Apply(permit.Grant(context.Background()), publish.Prior{})
	if got := publish.AsTrouble(err); got.Kind != publish.Unknown || got.Condition != "duplicate_text" {
		t.Fatalf("%s %s: %v", got.Kind, got.Condition, err)
	}
	f, err := e.Find(context.Background(), publish.Prior{State: publish.Unconfirmed, Attempts: 1, First: time.Now().Add(-24 * time.Hour)})
	if err != nil || f.Presence != publish.Present || f.Receipt.ID != remote.Posts()[0].ID {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestAReceiptIsLookedAtByItsID: a person's receipt is believed when that very post is the announcement.
func TestAReceiptIsLookedAtByItsID(t *testing.T) {
	s, remote := serve(t)
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

func TestTwoPostsForOneArticleAreForAPerson(t *testing.T) {
	s, remote := serve(t)
	e := effect(t, s)
	for _, text := range []string{"One: ", "Two: "} {
		remote.Add(text+channeltest.Announcement(s).URL, time.Now())
	}
	f, err := e.Find(context.Background(), publish.Prior{State: publish.Unconfirmed, Attempts: 1, First: time.Now()})
	if err != nil || f.Presence != publish.Several {
		t.Errorf("%+v, %v", f, err)
	}
}
