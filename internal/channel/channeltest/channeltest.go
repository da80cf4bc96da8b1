// Package channeltest is the contract that every channel must keep, checked over a server: a sandbox, or the real
// one where it can run.
package channeltest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"colophon/internal/channel"
	"colophon/internal/permit"
	"colophon/internal/sandbox/fault"
	"colophon/publish"
	"colophon/publish/effecttest"
)

// Server is a channel's server of one test, behind a layer of faults.
type Server struct {
	Faults *fault.Layer
	Port   *fault.Port

	// Open connects the channel, with a credential that the server refuses if bad. Options hold what the test is
	// about; Name, and Account where it is empty, are for Open to fill.
	Open func(t *testing.T, o channel.Options, bad bool) channel.Channel
	// Path matches the path of the request that announces.
	Path string
	// Site is what articles' URLs begin with, https://blog.example unless set.
	Site string
	// Count counts the announcements that stand at the server, Reads how often own posts were read back.
	Count, Reads func() int
	// Post announces a URL, and Delete takes a post away, as the account's owner in the vendor's own program.
	Post   func(t *testing.T, url string) publish.Receipt
	Delete func(t *testing.T, id string)

	mu     sync.Mutex
	bodies [][]byte
}

// Serve puts a server behind faults, on a port of its own, until the test is over.
func Serve(t *testing.T, h http.Handler) *Server {
	t.Helper()
	s := &Server{Faults: fault.New(h), Site: "https://blog.example"}
	var err error
	if s.Port, err = fault.Listen(s.recorded(s.Faults)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Port.Close)
	return s
}

// recorded keeps the bodies of what is sent to change something.
func (s *Server) recorded(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost || r.Method == http.MethodPut {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			s.mu.Lock()
			s.bodies = append(s.bodies, body)
			s.mu.Unlock()
		}
		h.ServeHTTP(w, r)
	})
}

// Sent counts the requests with that very body.
func (s *Server) Sent(body []byte) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.bodies {
		if bytes.Equal(b, body) {
			n++
		}
	}
	return n
}

// Bench says what is checked.
type Bench struct {
	Server func(t *testing.T) *Server
	Blind  bool   // announcements cannot be read back
	Chosen bool   // a post is found by the id that its caller chose, and not by reading others
	Named  bool   // one signs in with the account's name, so that of another account the credential is a bad one
	Secret string // must appear nowhere
}

// Announcement is of an article on the server's site.
func Announcement(s *Server) publish.Announcement {
	u := s.Site + "/posts/look/"
	return publish.Announcement{
		Intent: publish.Intent{Key: "media-001:2026-10-04:look", Slug: "look", Revision: 1, URL: publish.CanonicalURL(u)},
		Title:  "Look, then act", Description: "About looking.", URL: u, Tags: []string{"go"}, Markdown: "Look, and *then* act.\n",
		Made: time.Now().UTC().Truncate(time.Millisecond),
	}
}

// Run checks a channel.
func Run(t *testing.T, b Bench) {
	t.Run("Effect", func(t *testing.T) {
		effecttest.Run(t, func(t *testing.T) effecttest.Subject { return subject(t, b) })
	})
	for _, c := range []struct {
		name  string
		check func(*testing.T, Bench, *Server)
		needs bool
	}{
		{"CleanRunReadsNothingBack", clean, true},
		{"LimitSaysWhenToComeBack", limit, true},
		{"BadCredentialIsNamedAndNotTold", credential, true},
		{"OtherServersAnswersProveNothing", unclear, true},
		{"AnAnswerThatNeverComesProvesNothing", silent, true},
		{"AMessageIsSentAsItWasKept", kept, true},
		{"AnotherAccountIsRefused", account, !b.Blind},
		{"AnotherAccountsMessageIsRefused", stranger, true},
		{"SurpriseLinksAreRefused", links, !b.Blind},
		{"ThePostIsFoundAmongMany", among, !b.Blind},
		{"ReadingEndsAtTheNewestKnownPost", cursor, !b.Blind && !b.Chosen},
		{"ReadingThatBreaksOffIsNoAbsence", pages, !b.Blind && !b.Chosen},
		{"TheBacklogIsReadNewestFirst", backlog, !b.Blind},
		{"APostThatItsOwnerDeletedIsAbsent", deleted, !b.Blind},
	} {
		if c.needs {
			t.Run(c.name, func(t *testing.T) { c.check(t, b, b.Server(t)) })
		}
	}
}

func subject(t *testing.T, b Bench) effecttest.Subject {
	s := b.Server(t)
	m := compose(t, s.Open(t, channel.Options{}, false), Announcement(s))
	return effecttest.Subject{
		Effect: func(t *testing.T) publish.Effect { return effect(t, s.Open(t, channel.Options{}, false), m) },
		Count:  s.Count,
		Fault:  func(kind string) { s.Faults.Add(fault.Rule{Method: "POST", Path: s.Path, Kind: fault.Kind(kind)}) },
		Refuse: func(r bool) {
			if r {
				s.Port.Refuse()
			} else if err := s.Port.Accept(); err != nil {
				t.Fatal(err)
			}
		},
		Blind: b.Blind, Bodiless: b.Blind,
	}
}

func compose(t *testing.T, c channel.Channel, a publish.Announcement) publish.Message {
	t.Helper()
	m, err := c.Compose(context.Background(), a)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// effect is of a message that has been kept, and read by another process.
func effect(t *testing.T, c channel.Channel, m publish.Message) publish.Effect {
	t.Helper()
	raw, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var read publish.Message
	if err := json.Unmarshal(raw, &read); err != nil {
		t.Fatal(err)
	}
	e, err := c.Effect(context.Background(), read)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// open is the announcement's effect, on a channel with options.
func open(t *testing.T, s *Server, o channel.Options, change ...func(*publish.Announcement)) publish.Effect {
	t.Helper()
	a := Announcement(s)
	for _, f := range change {
		f(&a)
	}
	c := s.Open(t, o, false)
	return effect(t, c, compose(t, c, a))
}

func apply(t *testing.T, e publish.Effect) publish.Receipt {
	t.Helper()
	r, err := e.Apply(permit.Grant(context.Background()), publish.Prior{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// lost is what the ledger says after an attempt whose end nobody knows.
func lost() publish.Prior {
	at := time.Now().Add(-time.Second)
	return publish.Prior{State: publish.Unconfirmed, Attempts: 1, First: at, Last: at}
}

func find(t *testing.T, e publish.Effect, want publish.Presence) publish.Finding {
	t.Helper()
	f, err := e.Find(context.Background(), lost())
	if err != nil || f.Presence != want || len(f.Evidence) == 0 {
		t.Fatalf("the look saw %+v, %v; want %s", f, err, want)
	}
	return f
}
