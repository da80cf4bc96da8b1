package indexnow_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"colophon/internal/channel"
	"colophon/internal/channel/channeltest"
	"colophon/internal/channel/indexnow"
	"colophon/internal/permit"
	server "colophon/internal/sandbox/channels/indexnow"
	"colophon/internal/wire"
	"colophon/publish"
)

const key = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"

func TestContract(t *testing.T) {
	channeltest.Run(t, channeltest.Bench{
		Server: func(t *testing.T) *channeltest.Server { s, _ := serve(t); return s },
		Blind:  true, Secret: key,
	})
}

func serve(t *testing.T) (*channeltest.Server, *server.Server) {
	t.Helper()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/"+key+".txt" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(key))
	}))
	t.Cleanup(site.Close)
	remote := server.New()
	s := channeltest.Serve(t, remote)
	s.Path, s.Site = "/indexnow", site.URL
	s.Count, s.Reads = func() int { return len(remote.Pings()) }, func() int { return 0 }
	s.Open = func(t *testing.T, o channel.Options, bad bool) channel.Channel {
		t.Helper()
		given := key
		if bad {
			given = "ffffffffffffffff"
		}
		o.Name = "indexnow"
		c, err := indexnow.New(wire.New(wire.Options{}), indexnow.Options{Options: o, Endpoint: s.Port.URL() + "/indexnow", Key: given, KeyLocation: site.URL + "/" + key + ".txt"})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	return s, remote
}

// TestAnswersAreToldApart: every status that the protocol documents.
func TestAnswersAreToldApart(t *testing.T) {
	for status, want := range map[int]struct {
		id        string
		kind      publish.Kind
		condition publish.Condition
	}{
		200: {id: "accepted"}, 202: {id: "accepted, key to be checked"},
		400: {kind: publish.Rejected, condition: "rejected"}, 403: {kind: publish.Rejected, condition: "key_refused"},
		422: {kind: publish.Rejected, condition: "host_refused"}, 429: {kind: publish.Deferred, condition: "rate_limited"},
		500: {kind: publish.Unknown, condition: "server_error"},
	} {
		s, remote := serve(t)
		remote.Answer(status)
		c := s.Open(t, channel.Options{}, false)
		m, err := c.Compose(context.Background(), channeltest.Announcement(s))
		if err != nil {
			t.Fatal(err)
		}
		e, err := c.Effect(context.Background(), m)
		if err != nil {
			t.Fatal(err)
		}
		r, err := e.Apply(permit.Grant(context.Background()), publish.Prior{})
		if got := publish.AsTrouble(err); r.ID != want.id || err != nil && (got.Kind != want.kind || got.Condition != want.condition) || (err == nil) != (want.id != "") {
			t.Errorf("%d: %+v, %v", status, r, err)
		}
	}
}

// TestAnArticleOnAnotherHostIsNotPinged: the key is good for its own host alone.
func TestAnArticleOnAnotherHostIsNotPinged(t *testing.T) {
	s, remote := serve(t)
	a := channeltest.Announcement(s)
	a.URL = "https://elsewhere.example/posts/look/"
	_, err := s.Open(t, channel.Options{}, false).Compose(context.Background(), a)
	if got := publish.AsTrouble(err); got.Kind != publish.Halted || got.Condition != "host_refused" || len(remote.Pings()) != 0 {
		t.Errorf("%v", err)
	}
}
