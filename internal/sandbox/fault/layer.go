package fault

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"time"
)

// Layer is a handler that lets requests through to another, except those that a rule is for.
type Layer struct {
	next http.Handler

	mu      sync.Mutex
	rules   []*rule
	added   int // rules, ever
	hits    []Hit
	seen    []Change
	arrived []time.Time   // changes
	news    chan struct{} // closed, and made anew, whenever there is a hit
	late    []*pending
	answers map[string]*httptest.ResponseRecorder // of reads, the last good one each
}

// pending is an effect that will land.
type pending struct {
	Landing
	effect func()
}

// land answers the effects that land with a request: before it is answered, and behind that.
func (l *Layer) land(req *http.Request) (before, behind []func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var still []*pending
	for _, p := range l.late {
		if p.Method == "" || p.Method == req.Method {
			p.After--
		}
		switch {
		case p.After > 0:
			still = append(still, p)
		case p.Behind:
			behind = append(behind, p.effect)
		default:
			before = append(before, p.effect)
		}
	}
	l.late = still
	return before, behind
}

// all runs effects, as net/http does with a handler that panics.
func all(effects []func()) {
	for _, f := range effects {
		func() {
			defer func() { _ = recover() }()
			f()
		}()
	}
}

// New puts a layer in front of next.
func New(next http.Handler) *Layer {
	return &Layer{next: next, news: make(chan struct{}), answers: map[string]*httptest.ResponseRecorder{}}
}

// Change is a request by its method and path, whatever came of it.
type Change struct{ Method, Path string }

// Changes lists the requests that were to change something, in the order of their arrival.
func (l *Layer) Changes() []Change {
	return slices.DeleteFunc(l.Requests(), func(c Change) bool { return c.Method == http.MethodGet || c.Method == http.MethodHead })
}

// Requests lists all requests, reads included, in the order of their arrival.
func (l *Layer) Requests() []Change {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.seen)
}

// Arrivals are the times at which the changes arrived.
func (l *Layer) Arrivals() []time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.arrived)
}

// Add adds a rule. It panics when the kind is none of the kinds, or the path no regular expression: both
// are mistakes in a test, which would otherwise pass without its fault.
func (l *Layer) Add(r Rule) {
	if err := l.add(r); err != nil {
		panic(err)
	}
}

func (l *Layer) add(r Rule) error {
	c, err := compile(r)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	c.index = l.added
	l.added++
	l.rules = append(l.rules, c)
	return nil
}

// Clear takes all rules away.
func (l *Layer) Clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rules = nil
}

// Hits lists what has gone wrong so far.
func (l *Layer) Hits() []Hit {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Hit{}, l.hits...)
}

// Wait waits until n requests have gone wrong. A request counts when its effect, if it has one, has
// landed: the moment to kill whoever waits for the answer. A late effect counts before it lands.
func (l *Layer) Wait(ctx context.Context, n int) error {
	for {
		l.mu.Lock()
		done, news := len(l.hits) >= n, l.news
		l.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (l *Layer) match(req *http.Request) *rule {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = append(l.seen, Change{req.Method, req.URL.Path})
	if !reads(req) {
		l.arrived = append(l.arrived, time.Now())
	}
	for _, r := range l.rules {
		if !r.matches(req) {
			continue
		}
		if r.Skip > 0 {
			r.Skip--
			continue
		}
		if r.Times > 0 {
			r.Times--
		}
		hit := *r
		return &hit
	}
	return nil
}

func (l *Layer) hit(r *rule, req *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hits = append(l.hits, Hit{Rule: r.index, Kind: r.Kind, Method: req.Method, Path: req.URL.Path, At: time.Now(), Landed: r.Kind.lands()})
	close(l.news)
	l.news = make(chan struct{})
}

// ServeHTTP answers one request, rightly or wrongly.
func (l *Layer) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	before, behind := l.land(req)
	all(before)
	defer func() { all(behind) }()
	r := l.match(req)
	if r == nil {
		l.serve(w, req)
		return
	}
	body := drain(req)
	gone := req.Context().Done()
	// The effect must not end because the client has left.
	req = req.WithContext(context.WithoutCancel(req.Context()))
	effect := func() *httptest.ResponseRecorder {
		rec := httptest.NewRecorder()
		req.Body = body()
		l.next.ServeHTTP(rec, req)
		return rec
	}
	switch r.Kind {
	case ResetBefore:
		l.hit(r, req)
		reset(w)
	case ResetAfter:
		effect()
		l.hit(r, req)
		reset(w)
	case HangBefore, HangAfter:
		if r.Kind == HangAfter {
			effect()
		}
		l.hit(r, req)
		hang(gone, r.Delay)
		reset(w)
	case StatusBefore, StatusAfter:
		if r.Kind == StatusAfter {
			effect()
		}
		l.hit(r, req)
		status(w, r)
	case LateEffect:
		l.hit(r, req)
		late := func() { effect() }
		if r.Lands != nil {
			l.mu.Lock()
			l.late = append(l.late, &pending{*r.Lands, late})
			l.mu.Unlock()
		} else {
			time.AfterFunc(r.Delay, func() { all([]func(){late}) })
		}
		reset(w)
	case CutBody, EmptyBody, WrongType, MissingID:
		rec := effect()
		l.hit(r, req)
		spoil(w, r.Kind, rec)
	case Redirect:
		l.hit(r, req)
		w.Header().Set("Location", "http://"+req.Host+"/elsewhere"+req.URL.Path)
		r.headers(w)
		w.WriteHeader(r.Status)
	case Stale:
		l.hit(r, req)
		if was := l.remembered(req); was != nil && r.Body == "" {
			repeat(w, was)
			return
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		r.headers(w)
		w.WriteHeader(r.Status)
		body := r.Body
		if body == "" {
			body = `{"message":"Not Found"}`
		}
		_, _ = w.Write([]byte(body))
	}
}

// serve answers a request rightly, and remembers what reads are answered, for stale ones.
func (l *Layer) serve(w http.ResponseWriter, req *http.Request) {
	if !reads(req) {
		l.next.ServeHTTP(w, req)
		return
	}
	rec := httptest.NewRecorder()
	l.next.ServeHTTP(rec, req)
	l.mu.Lock()
	l.answers[req.URL.RequestURI()] = rec
	l.mu.Unlock()
	repeat(w, rec)
}

func (l *Layer) remembered(req *http.Request) *httptest.ResponseRecorder {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.answers[req.URL.RequestURI()]
}

func repeat(w http.ResponseWriter, rec *httptest.ResponseRecorder) {
	for name, values := range rec.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(rec.Code)
	_, _ = w.Write(rec.Body.Bytes())
}
