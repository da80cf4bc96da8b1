// Package fault puts faults in front of a server: each names the instant at which something goes wrong,
// and happens on the server's side of the wire, so that the client under test is the real one.
package fault

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync"
	"time"
)

// Kind is what goes wrong, and when.
type Kind string

// The kinds. Before: the request has no effect. After: it has, and the client is not told properly.
const (
	ResetBefore  Kind = "reset_before"  // the connection is reset when the request has arrived
	ResetAfter   Kind = "reset_after"   // the effect lands, then the connection is reset
	HangBefore   Kind = "hang_before"   // no effect and no answer, until the client leaves or Delay has passed
	HangAfter    Kind = "hang_after"    // the effect lands, the answer is withheld likewise
	StatusBefore Kind = "status_before" // Status is answered instead
	StatusAfter  Kind = "status_after"  // the effect lands, then Status is answered
	LateEffect   Kind = "late_effect"   // the connection is reset, and the effect lands Delay later
	CutBody      Kind = "cut_body"      // the effect lands, half of the answer's body arrives
	EmptyBody    Kind = "empty_body"    // the effect lands, the answer is a success with nothing in it
	WrongType    Kind = "wrong_type"    // the effect lands, the answer is a success in HTML
	Redirect     Kind = "redirect"      // Status, 307 unless set, to somewhere else
)

// Rule says which requests go wrong, and how.
type Rule struct {
	Method     string        `json:"method,omitempty"` // any, if empty
	Path       string        `json:"path,omitempty"`   // a regular expression; any, if empty
	Kind       Kind          `json:"kind"`
	Skip       int           `json:"skip,omitempty"`  // let that many matching requests pass first
	Times      int           `json:"times,omitempty"` // 1 unless set; -1 is for ever
	Delay      time.Duration `json:"delay,omitempty"`
	Status     int           `json:"status,omitempty"`      // 500 unless set
	RetryAfter string        `json:"retry_after,omitempty"` // the header's value
}

// Hit is one request that went wrong.
type Hit struct {
	Kind   Kind   `json:"kind"`
	Method string `json:"method"`
	Path   string `json:"path"`
}

// Layer is a handler that lets requests through to another, except those that a rule is for.
type Layer struct {
	next http.Handler

	mu      sync.Mutex
	rules   []*rule
	hits    []Hit
	changes []Change
	news    chan struct{} // closed, and made anew, whenever there is a hit
}

type rule struct {
	Rule
	path *regexp.Regexp
}

// New puts a layer in front of next.
func New(next http.Handler) *Layer { return &Layer{next: next, news: make(chan struct{})} }

// Change is a request that was to change something, whatever came of it.
type Change struct{ Method, Path string }

// Changes lists the requests that were to change something, in the order of their arrival.
func (l *Layer) Changes() []Change {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Change(nil), l.changes...)
}

// Add adds a rule; its path must be a good regular expression.
func (l *Layer) Add(r Rule) {
	if r.Times == 0 {
		r.Times = 1
	}
	if r.Status == 0 {
		r.Status = http.StatusInternalServerError
		if r.Kind == Redirect {
			r.Status = http.StatusTemporaryRedirect
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rules = append(l.rules, &rule{Rule: r, path: regexp.MustCompile(r.Path)})
}

// Hits lists what has gone wrong so far.
func (l *Layer) Hits() []Hit {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Hit(nil), l.hits...)
}

// Wait waits until n requests have gone wrong. A request counts when its effect, if it has one, has
// landed: the moment to kill whoever waits for the answer.
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

func (l *Layer) match(req *http.Request) *Rule {
	l.mu.Lock()
	defer l.mu.Unlock()
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		l.changes = append(l.changes, Change{req.Method, req.URL.Path})
	}
	for _, r := range l.rules {
		if r.Times == 0 || r.Method != "" && r.Method != req.Method || !r.path.MatchString(req.URL.Path) {
			continue
		}
		if r.Skip > 0 {
			r.Skip--
			continue
		}
		if r.Times > 0 {
			r.Times--
		}
		hit := r.Rule
		return &hit
	}
	return nil
}

func (l *Layer) hit(r *Rule, req *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hits = append(l.hits, Hit{r.Kind, req.Method, req.URL.Path})
	close(l.news)
	l.news = make(chan struct{})
}

// ServeHTTP answers one request, rightly or wrongly.
func (l *Layer) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r := l.match(req)
	if r == nil {
		l.next.ServeHTTP(w, req)
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
		time.AfterFunc(r.Delay, func() { effect() })
		reset(w)
	case CutBody, EmptyBody, WrongType:
		rec := effect()
		l.hit(r, req)
		spoil(w, r.Kind, rec)
	case Redirect:
		l.hit(r, req)
		w.Header().Set("Location", "http://"+req.Host+"/elsewhere"+req.URL.Path)
		w.WriteHeader(r.Status)
	}
}

// hang waits until the client has gone, or for a time if one is given.
func hang(gone <-chan struct{}, d time.Duration) {
	var end <-chan time.Time
	if d > 0 {
		end = time.After(d)
	}
	select {
	case <-gone:
	case <-end:
	}
}

func status(w http.ResponseWriter, r *Rule) {
	if r.RetryAfter != "" {
		w.Header().Set("Retry-After", r.RetryAfter)
	}
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(r.Status)
	_, _ = w.Write([]byte("<html><body>It went wrong.</body></html>"))
}

func spoil(w http.ResponseWriter, k Kind, rec *httptest.ResponseRecorder) {
	good := rec.Body.Bytes()
	for name, values := range rec.Header() {
		w.Header()[name] = values
	}
	switch k {
	case EmptyBody:
		w.Header().Set("Content-Length", "0")
		w.WriteHeader(rec.Code)
	case WrongType:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(rec.Code)
		_, _ = w.Write([]byte("<html><body>All is well.</body></html>"))
	case CutBody:
		w.WriteHeader(rec.Code)
		_, _ = w.Write(good[:len(good)/2])
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		reset(w)
	}
}

// reset ends the connection with a TCP reset instead of an answer.
func reset(w http.ResponseWriter) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// Admin lets another process add rules (POST, a rule as JSON) and see what was hit (GET).
func (l *Layer) Admin() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch req.Method {
		case http.MethodPost:
			var r Rule
			if err := json.NewDecoder(req.Body).Decode(&r); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			l.Add(r)
			w.WriteHeader(http.StatusNoContent)
		default:
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(l.Hits())
		}
	})
}

// Clear takes all rules away.
func (l *Layer) Clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rules = nil
}
