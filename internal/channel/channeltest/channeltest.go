// Package channeltest is the contract that every channel must keep, checked over a sandbox server.
package channeltest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"colophon/internal/permit"
	"colophon/internal/sandbox"
	"colophon/internal/sandbox/channels/mastodon"
	"colophon/internal/sandbox/fault"
	"colophon/internal/wire"
	"colophon/publish"
	"colophon/publish/effecttest"
)

// Channel is what the suite needs of a channel.
type Channel interface {
	Prepare(ctx context.Context, a publish.Announcement) (publish.Effect, error)
}

// Bench says how a channel meets its server in the world.
type Bench struct {
	// Open connects the channel with a credential; bad asks for one that the server refuses.
	Open func(t *testing.T, w *sandbox.World, bad bool) Channel
	// Faults and Port are in front of the channel's server.
	Faults func(*sandbox.World) *fault.Layer
	Port   func(*sandbox.World) *fault.Port
	// Count counts the channel's announcements at the server, Reads its read-backs.
	Count, Reads func(*sandbox.World) int
	Blind        bool
	// Secret must appear nowhere.
	Secret string
	// Mastodon adjusts that server.
	Mastodon mastodon.Options
}

// Announcement is of an article on the world's site.
func Announcement(w *sandbox.World) publish.Announcement {
	u := w.SitePort.URL() + "/posts/look/"
	return publish.Announcement{
		Intent: publish.Intent{Key: "media-001:2026-10-04:look", Slug: "look", Revision: 1, URL: publish.CanonicalURL(u)},
		Title:  "Look, then act", Description: "About looking.", URL: u, Tags: []string{"go"},
	}
}

func world(t *testing.T, b Bench) *sandbox.World {
	t.Helper()
	w, err := sandbox.Start(sandbox.Options{Dir: filepath.Join(t.TempDir(), "blog.git"), Mastodon: b.Mastodon})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

// Client is a client with a bearer token.
func Client(token string) *http.Client {
	return wire.New(wire.Options{Timeout: 2 * time.Second, Authorize: func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }})
}

// Run checks a channel.
func Run(t *testing.T, b Bench) {
	t.Run("Effect", func(t *testing.T) {
		effecttest.Run(t, func(t *testing.T) effecttest.Subject {
			w := world(t, b)
			prepared := prepare(t, b.Open(t, w, false), w)
			return effecttest.Subject{
				Effect: func(*testing.T) publish.Effect { return prepared() },
				Count:  func() int { return b.Count(w) },
				Fault: func(kind string) {
					b.Faults(w).Add(fault.Rule{Method: "POST", Kind: fault.Kind(kind)})
				},
				Refuse: func(r bool) {
					if r {
						b.Port(w).Refuse()
					} else if err := b.Port(w).Accept(); err != nil {
						t.Fatal(err)
					}
				},
				Blind: b.Blind, Bodiless: b.Blind,
			}
		})
	})
	for name, f := range map[string]func(*testing.T, Bench){
		"CleanRunReadsNothingBack": clean, "LimitSaysWhenToComeBack": limit, "BadCredentialIsNamedAndNotTold": credential,
		"OtherServersAnswersProveNothing": unknown,
	} {
		t.Run(name, func(t *testing.T) { f(t, b) })
	}
}

// prepare answers a function that prepares the announcement; a channel may keep what it has read.
func prepare(t *testing.T, c Channel, w *sandbox.World) func() publish.Effect {
	return func() publish.Effect {
		t.Helper()
		e, err := c.Prepare(context.Background(), Announcement(w))
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
}

func clean(t *testing.T, b Bench) {
	w := world(t, b)
	e := prepare(t, b.Open(t, w, false), w)()
	if tr := e.Traits(); tr.LookFirst || tr.LookAfter {
		t.Errorf("looks on a clean run: %+v", tr)
	}
	r, err := e.Apply(permit.Grant(context.Background()), publish.Prior{})
	if err != nil || b.Count(w) != 1 || b.Reads(w) != 0 || !strings.HasPrefix(r.URL, "http") {
		t.Errorf("%+v, %v: %d sent, %d read back", r, err, b.Count(w), b.Reads(w))
	}
	if op := e.Operation(); op.Account == "" || !strings.Contains(op.Destination, op.Account) {
		t.Errorf("the operation does not name the account: %+v", op)
	}
	told(t, b, r, e.Operation())
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

func limit(t *testing.T, b Bench) {
	w := world(t, b)
	e := prepare(t, b.Open(t, w, false), w)()
	b.Faults(w).Add(fault.Rule{Method: "POST", Kind: fault.StatusBefore, Status: 429, RetryAfter: "300"})
	_, err := e.Apply(permit.Grant(context.Background()), publish.Prior{})
	got := publish.AsTrouble(err)
	if got.Kind != publish.Deferred || got.After < time.Minute || b.Count(w) != 0 {
		t.Errorf("%s after %s: %v", got.Kind, got.After, err)
	}
}

func credential(t *testing.T, b Bench) {
	w := world(t, b)
	c := b.Open(t, w, true)
	e, err := c.Prepare(context.Background(), Announcement(w))
	if err == nil {
		_, err = e.Apply(permit.Grant(context.Background()), publish.Prior{})
	}
	got := publish.AsTrouble(err)
	if err == nil || got.Kind != publish.Halted && got.Kind != publish.Rejected || got.Next == "" || b.Count(w) != 0 {
		t.Fatalf("%+v", got)
	}
	told(t, b, got, err)
}

func unknown(t *testing.T, b Bench) {
	for _, status := range []int{408, 425, 500, 502, 503, 504} {
		w := world(t, b)
		e := prepare(t, b.Open(t, w, false), w)()
		b.Faults(w).Add(fault.Rule{Method: "POST", Kind: fault.StatusAfter, Status: status})
		_, err := e.Apply(permit.Grant(context.Background()), publish.Prior{})
		if got := publish.AsTrouble(err); err == nil || got.Kind != publish.Unknown {
			t.Errorf("%d: %s, %v", status, got.Kind, err)
		}
	}
	w := world(t, b)
	e := prepare(t, b.Open(t, w, false), w)()
	b.Faults(w).Add(fault.Rule{Method: "POST", Kind: fault.HangAfter})
	ctx, cancel := context.WithTimeout(permit.Grant(context.Background()), 200*time.Millisecond)
	defer cancel()
	_, err := e.Apply(ctx, publish.Prior{})
	if got := publish.AsTrouble(err); !errors.Is(err, context.DeadlineExceeded) || got.Kind != publish.Unknown || b.Count(w) != 1 {
		t.Errorf("an answer that never came: %s, %v", got.Kind, err)
	}
}
