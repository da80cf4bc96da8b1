// Package wire makes the only HTTP clients of the program. Reads and sign-ins pass; a request that changes
// something needs a permit and uses it up, travels on a connection of its own, and is never sent again by itself.
//
// The clients follow no redirects: where a redirect leads is for the caller to say.
package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"colophon/internal/permit"
	"colophon/publish"
)

// Options configure a client. The zero value is ready to use.
type Options struct {
	Timeout   time.Duration       // of a whole exchange; 30 s unless set, above the 10 s after which GitHub gives up
	MaxBody   int64               // bytes of an answer that may be read; 16 MiB unless set
	UserAgent string              // "colophon" unless set
	Authorize func(*http.Request) // adds credentials at the last moment, to requests to the named remote only
	// SignIn are the paths of requests that open a session: they need no permit, for they publish nothing, though
	// their method could.
	SignIn []string
}

// New makes a client.
func New(o Options) *http.Client {
	if o.Timeout == 0 {
		o.Timeout = 30 * time.Second
	}
	if o.MaxBody == 0 {
		o.MaxBody = 16 << 20
	}
	if o.UserAgent == "" {
		o.UserAgent = "colophon"
	}
	reads := transport()
	changes := transport()
	// A reused connection may have died unseen, which would make a request that was never sent look as
	// if it might have been; and net/http resends on such connections. A new one has neither fault.
	changes.DisableKeepAlives = true
	return &http.Client{
		Transport:     &guard{options: o, reads: reads, changes: changes},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func transport() *http.Transport {
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: 30 * time.Second,
		MaxIdleConnsPerHost: 4, ForceAttemptHTTP2: true, DisableCompression: false,
	}
}

// guard is the transport through which everything leaves.
type guard struct {
	options        Options
	reads, changes http.RoundTripper
}

// RoundTrip sends one request, or refuses it. An error before a connection was made is a *publish.Trouble
// of kind NotSent; any other error proves nothing.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	via := g.reads
	if changes(req.Method) && !slices.Contains(g.options.SignIn, req.URL.Path) {
		if err := permit.Spend(req.Context()); err != nil {
			closeBody(req)
			return nil, withoutPermit(req, err)
		}
		via = g.changes
	}
	var connected atomic.Bool
	// The exchange ends with its answer's last byte, whether or not the body is closed then: go-github closes another
	// body than it was given when it has read an error, and http.Client's own time-out would outlive that.
	ctx, cancel := context.WithTimeout(req.Context(), g.options.Timeout)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	out := req.Clone(ctx)
	out.GetBody = nil // without it net/http cannot resend, not even for an Idempotency-Key
	out.Header.Set("User-Agent", g.options.UserAgent)
	if g.options.Authorize != nil {
		g.options.Authorize(out)
	}
	resp, err := via.RoundTrip(out)
	if err != nil {
		cancel()
		err = inner(err)
		if !connected.Load() {
			return nil, &publish.Trouble{Kind: publish.NotSent, Condition: "unreachable", Detail: "no connection to " + req.URL.Host, Next: "check the network and the address", Err: err}
		}
		return nil, fmt.Errorf("%s %s: %w", req.Method, plain(req.URL), err)
	}
	resp.Body = &capped{body: resp.Body, left: g.options.MaxBody, limit: g.options.MaxBody, over: cancel}
	return resp, nil
}

// withoutPermit refuses a change. That nothing was sent is proven, except for a second request: the first, on
// the same permit, may have arrived.
func withoutPermit(req *http.Request, err error) error {
	kind := publish.NotSent
	if errors.Is(err, permit.ErrSpent) {
		kind = publish.Unknown
	}
	return &publish.Trouble{Kind: kind, Condition: "no_permit", Detail: req.Method + " " + plain(req.URL), Err: err}
}

func changes(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, "":
		return false
	}
	return true
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}

// inner drops the layers of an error that repeat the URL, where a query or user could hold a secret.
func inner(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// plain is a URL without user, query and fragment.
func plain(u *url.URL) string { return u.Scheme + "://" + u.Host + u.Path }

// ErrTooLarge is the error of reading past a client's MaxBody.
var ErrTooLarge = errors.New("the answer is larger than allowed")

type capped struct {
	body        io.ReadCloser
	left, limit int64
	over        func() // ends the exchange
}

func (c *capped) Read(p []byte) (int, error) {
	n, err := c.read(p)
	if err != nil {
		c.over()
	}
	return n, err
}

func (c *capped) read(p []byte) (int, error) {
	if c.left <= 0 {
		var one [1]byte
		if n, err := c.body.Read(one[:]); n == 0 {
			return 0, err
		}
		return 0, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, c.limit)
	}
	n, err := c.body.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	return n, err
}

func (c *capped) Close() error {
	defer c.over()
	return c.body.Close()
}
