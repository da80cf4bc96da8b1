package channeltest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"colophon/internal/channel"
	"colophon/internal/permit"
	"colophon/internal/sandbox/fault"
	"colophon/publish"
)

// many is more posts than any server lists on one page.
const many = 110

func clean(t *testing.T, b Bench, s *Server) {
	e := open(t, s, channel.Options{})
	if tr := e.Traits(); tr.LookFirst || tr.LookAfter {
		t.Errorf("looks on a clean run: %+v", tr)
	}
	r := apply(t, e)
	if s.Count() != 1 || s.Reads() != 0 || !strings.HasPrefix(r.URL, "http") {
		t.Errorf("%+v: %d sent, %d read back", r, s.Count(), s.Reads())
	}
	op := e.Operation()
	if op.Account == "" || !strings.HasSuffix(op.Destination, "/"+op.Account) || op.Lane.Name != op.Destination || op.Lane.Strict == b.Blind {
		t.Errorf("the operation does not name the account and its lane: %+v", op)
	}
	told(t, b, r, op)
}

// told fails if the secret can be seen in any of the values.
func told(t *testing.T, b Bench, values ...any) {
	t.Helper()
	for _, v := range values {
		if s := fmt.Sprintf("%+v %v", v, v); strings.Contains(s, b.Secret) {
			t.Errorf("the secret is told: %s", s)
		}
	}
}

func limit(t *testing.T, _ Bench, s *Server) {
	e := open(t, s, channel.Options{})
	s.Faults.Add(fault.Rule{Method: "POST", Path: s.Path, Kind: fault.StatusBefore, Status: http.StatusTooManyRequests, RetryAfter: "300"})
	_, err := e.Apply(permit.Grant(context.Background()), publish.Prior{})
	if got := publish.AsTrouble(err); got.Kind != publish.Deferred || got.After < 4*time.Minute || s.Count() != 0 {
		t.Errorf("%s after %s: %v", got.Kind, got.After, err)
	}
}

func credential(t *testing.T, b Bench, s *Server) {
	m := compose(t, s.Open(t, channel.Options{}, false), Announcement(s))
	c := s.Open(t, channel.Options{}, true)
	_, err := c.Account(context.Background())
	if err == nil {
		var e publish.Effect
		if e, err = c.Effect(context.Background(), m); err == nil {
			_, err = e.Apply(permit.Grant(context.Background()), publish.Prior{})
		}
	}
	got := publish.AsTrouble(err)
	if err == nil || got.Kind != publish.Halted && got.Kind != publish.Rejected || got.Next == "" || s.Count() != 0 {
		t.Fatalf("%+v", got)
	}
	told(t, b, got, err)
}

func unclear(t *testing.T, _ Bench, s *Server) {
	for n, status := range []int{408, 425, 500, 502, 503, 504} {
		e := open(t, s, channel.Options{}, func(a *publish.Announcement) { another(a, n) })
		s.Faults.Add(fault.Rule{Method: "POST", Path: s.Path, Kind: fault.StatusAfter, Status: status})
		_, err := e.Apply(permit.Grant(context.Background()), publish.Prior{})
		if got := publish.AsTrouble(err); err == nil || got.Kind != publish.Unknown || s.Count() != n+1 {
			t.Errorf("%d: %s, %v; %d at the server", status, got.Kind, err, s.Count())
		}
	}
}

// another makes the announcement that of another article.
func another(a *publish.Announcement, n int) {
	a.Intent.Key, a.Intent.Slug = publish.Key(fmt.Sprintf("media-001:2026-10-04:look-%d", n)), fmt.Sprintf("look-%d", n)
	a.Title, a.URL = fmt.Sprintf("%s %d", a.Title, n), strings.Replace(a.URL, "/look/", fmt.Sprintf("/look-%d/", n), 1)
	a.Intent.URL = publish.CanonicalURL(a.URL)
}

func silent(t *testing.T, _ Bench, s *Server) {
	e := open(t, s, channel.Options{})
	s.Faults.Add(fault.Rule{Method: "POST", Path: s.Path, Kind: fault.HangAfter})
	ctx, cancel := context.WithTimeout(permit.Grant(context.Background()), 500*time.Millisecond)
	defer cancel()
	_, err := e.Apply(ctx, publish.Prior{})
	if got := publish.AsTrouble(err); !errors.Is(err, context.DeadlineExceeded) || got.Kind != publish.Unknown || s.Count() != 1 {
		t.Errorf("%s, %v; %d at the server", got.Kind, err, s.Count())
	}
}

// kept: what is sent is what was kept, whatever the channel's configuration has become.
func kept(t *testing.T, b Bench, s *Server) {
	m := compose(t, s.Open(t, channel.Options{}, false), Announcement(s))
	e := effect(t, s.Open(t, channel.Options{Template: "Now otherwise: {url}", Language: "de"}, false), m)
	apply(t, e)
	if !b.Blind && s.Sent(m.Body) != 1 || e.Operation().Key() != m.Operation.Key() || e.Operation().Text != m.Operation.Text {
		t.Errorf("%+v is not what was kept: %+v", e.Operation(), m)
	}
}

func account(t *testing.T, b Bench, s *Server) {
	c := s.Open(t, channel.Options{Account: "somebody"}, false)
	_, err := c.Account(context.Background())
	want := publish.Condition("wrong_account")
	if b.Named {
		want = "bad_credentials"
	}
	if got := publish.AsTrouble(err); got.Kind != publish.Halted || got.Condition != want || got.Next == "" {
		t.Errorf("%v", err)
	}
	if _, err := c.Compose(context.Background(), Announcement(s)); err == nil {
		t.Error("a message was composed for another account")
	}
	told(t, b, err)
}

func stranger(t *testing.T, _ Bench, s *Server) {
	c := s.Open(t, channel.Options{}, false)
	m := compose(t, c, Announcement(s))
	m.Operation.Destination += "0"
	e, err := c.Effect(context.Background(), m)
	if err == nil {
		_, err = e.Apply(permit.Grant(context.Background()), publish.Prior{})
	}
	if got := publish.AsTrouble(err); got.Kind != publish.Halted || got.Condition != "wrong_account" || s.Count() != 0 {
		t.Errorf("%v", err)
	}
}

func links(t *testing.T, _ Bench, s *Server) {
	c, a := s.Open(t, channel.Options{}, false), Announcement(s)
	a.Title = "See https://evil.example/"
	_, err := c.Compose(context.Background(), a)
	if got := publish.AsTrouble(err); got.Kind != publish.Halted || got.Condition != "surprise_link" || got.Next == "" {
		t.Errorf("%v", err)
	}
	a.Intent.Links = []string{"https://evil.example/"}
	if _, err := c.Compose(context.Background(), a); err != nil {
		t.Errorf("an allowed link: %v", err)
	}
}

func among(t *testing.T, _ Bench, s *Server) {
	e := open(t, s, channel.Options{})
	r := apply(t, e)
	fill(t, s, "later")
	if f := find(t, e, publish.Present); f.Receipt.ID != r.ID || f.Receipt.URL != r.URL {
		t.Errorf("found %+v, sent %+v", f.Receipt, r)
	}
}

// fill has the owner write more posts than a page holds.
func fill(t *testing.T, s *Server, when string) (newest publish.Receipt) {
	t.Helper()
	for n := range many {
		newest = s.Post(t, fmt.Sprintf("https://elsewhere.example/%s/%d", when, n))
	}
	return newest
}

func cursor(t *testing.T, _ Bench, s *Server) {
	newest := fill(t, s, "before")
	e := open(t, s, channel.Options{PageLimit: 1}, func(a *publish.Announcement) { a.Newest = newest.ID })
	find(t, e, publish.Absent)
	if s.Reads() != 1 {
		t.Errorf("read %d pages", s.Reads())
	}
	r := apply(t, e)
	if f := find(t, e, publish.Present); f.Receipt.ID != r.ID {
		t.Errorf("found %+v, sent %+v", f.Receipt, r)
	}
}

func pages(t *testing.T, _ Bench, s *Server) {
	e := open(t, s, channel.Options{PageLimit: 1})
	fill(t, s, "later")
	if f := find(t, e, publish.Incomplete); f.Condition == "" || f.Detail == "" {
		t.Errorf("%+v", f)
	}
}

func backlog(t *testing.T, _ Bench, s *Server) {
	c := s.Open(t, channel.Options{}, false)
	none, err := c.Backlog(context.Background())
	if err != nil || !none.Whole || len(none.Posts) != 0 {
		t.Fatalf("of an empty account: %+v, %v", none, err)
	}
	old, u := s.Post(t, "https://elsewhere.example/old"), Announcement(s).URL
	ours := s.Post(t, u)
	got, err := c.Backlog(context.Background())
	if err != nil || !got.Whole || len(got.Posts) != 2 || got.Posts[0].Receipt.ID != ours.ID || got.Posts[1].Receipt.ID != old.ID {
		t.Fatalf("%+v, %v", got, err)
	}
	destination, err := c.Account(context.Background())
	if p := got.Posts[0]; err != nil || got.Destination != destination || !slices.Contains(p.Links, u) || p.Receipt.URL == "" || !got.Reach.Equal(got.Posts[1].Created) {
		t.Errorf("%+v on %q, %v", got, destination, err)
	}
	fill(t, s, "later")
	if got, err := s.Open(t, channel.Options{PageLimit: 1}, false).Backlog(context.Background()); err != nil || got.Whole || got.Reach.IsZero() {
		t.Errorf("a backlog that is not read whole: %d posts, whole %t, %v", len(got.Posts), got.Whole, err)
	}
}

func deleted(t *testing.T, _ Bench, s *Server) {
	e := open(t, s, channel.Options{})
	r := apply(t, e)
	s.Delete(t, r.ID)
	if f := find(t, e, publish.Absent); !f.Receipt.Empty() || s.Count() != 0 {
		t.Errorf("%+v; %d at the server", f, s.Count())
	}
}
