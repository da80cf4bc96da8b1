package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"colophon/internal/permit"
	"colophon/internal/sandbox/fault"
	"colophon/publish"
)

func request(t *testing.T, ctx context.Context, method, url, body string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func TestChangesNeedAPermitAndUseItUp(t *testing.T) {
	var arrived atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived.Add(1) }))
	defer server.Close()
	c := New(Options{})
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "PROPFIND"} {
		arrived.Store(0)
		if _, err := c.Do(request(t, context.Background(), method, server.URL, "x")); !errors.Is(err, permit.ErrNone) {
			t.Errorf("%s without a permit: %v", method, err)
		}
		ctx := permit.Grant(context.Background())
		resp, err := c.Do(request(t, ctx, method, server.URL, "x"))
		if err != nil {
			t.Fatalf("%s with a permit: %v", method, err)
		}
		resp.Body.Close()
		if _, err := c.Do(request(t, ctx, method, server.URL, "x")); !errors.Is(err, permit.ErrSpent) {
			t.Errorf("a second %s: %v", method, err)
		} else if got := publish.AsTrouble(err); got.Kind != publish.Unknown {
			t.Errorf("a second %s is taken for %s, though the first has arrived", method, got.Kind)
		}
		if arrived.Load() != 1 {
			t.Errorf("%s: %d requests arrived", method, arrived.Load())
		}
	}
}

func TestARequestThatNeverLeftIsToldFromOneThatMayHaveArrived(t *testing.T) {
	refusing, err := fault.Listen(http.NotFoundHandler())
	if err != nil {
		t.Fatal(err)
	}
	defer refusing.Close()
	refusing.Refuse() // and keeps its port, which nobody else can take
	refused := refusing.URL()
	plainServer := httptest.NewServer(http.NotFoundHandler())
	defer plainServer.Close()
	var arrived atomic.Int32
	reset := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		arrived.Add(1)
		conn, _, _ := w.(http.Hijacker).Hijack()
		_ = conn.(*net.TCPConn).SetLinger(0)
		conn.Close()
	}))
	defer reset.Close()
	hang := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the server notices a client that leaves only then
		<-r.Context().Done()
	}))
	defer hang.Close()

	c := New(Options{Timeout: time.Second})
	for name, u := range map[string]string{
		"refused": refused, "dns": "http://colophon.invalid", "tls": strings.Replace(plainServer.URL, "http:", "https:", 1),
	} {
		_, err := c.Do(request(t, permit.Grant(context.Background()), "POST", u, "x"))
		if got := publish.AsTrouble(err); got.Kind != publish.NotSent {
			t.Errorf("%s: %v (%v), want not_sent", name, got.Kind, err)
		}
	}
	for name, u := range map[string]string{"reset": reset.URL, "hang": hang.URL} {
		req := request(t, permit.Grant(context.Background()), "POST", u+"/?token=hunter2", "x")
		req.Header.Set("Idempotency-Key", "k") // with which net/http would resend
		_, err := c.Do(req)
		if got := publish.AsTrouble(err); err == nil || got.Kind != publish.Unknown {
			t.Errorf("%s: %v (%v), want unknown", name, got.Kind, err)
		}
	}
	if arrived.Load() != 1 {
		t.Errorf("the reset request arrived %d times", arrived.Load())
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	var reached atomic.Int32
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer target.Close()
	for _, code := range []int{301, 302, 307, 308} {
		from := httptest.NewServer(http.RedirectHandler(target.URL, code))
		for _, method := range []string{"GET", "POST"} {
			resp, err := New(Options{}).Do(request(t, permit.Grant(context.Background()), method, from.URL, "x"))
			if err != nil || resp.StatusCode != code {
				t.Errorf("%s %d: %v, %v", method, code, resp, err)
			}
		}
		from.Close()
	}
	if reached.Load() != 0 {
		t.Errorf("%d redirects were followed", reached.Load())
	}
}

func TestLargeAnswersAreCutOff(t *testing.T) {
	big := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("x", 2000))
	}))
	defer big.Close()
	resp, err := New(Options{MaxBody: 1000}).Get(big.URL)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(resp.Body); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a large answer: %v", err)
	}
}

// TestAnExchangeEndsInTime: the time-out is for the whole of it, the answer's body included; and an answer that was
// read to its end holds nothing any more, though nobody closes it.
func TestAnExchangeEndsInTime(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/quick" {
			_, _ = io.WriteString(w, "all of it")
			return
		}
		if r.URL.Path == "/body" {
			_, _ = io.WriteString(w, "some of it")
			w.(http.Flusher).Flush()
		}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	defer close(release)
	hurried := New(Options{Timeout: 100 * time.Millisecond})
	if _, err := hurried.Do(request(t, context.Background(), "GET", server.URL+"/head", "")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("no answer: %v", err)
	}
	resp, err := hurried.Do(request(t, context.Background(), "GET", server.URL+"/body", ""))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(resp.Body); !errors.Is(err, context.DeadlineExceeded) || string(got) != "some of it" {
		t.Errorf("half an answer: %q, %v", got, err)
	}
	_ = resp.Body.Close()

	patient, before := New(Options{Timeout: time.Hour}), runtime.NumGoroutine()
	for range 50 {
		resp, err := patient.Do(request(t, context.Background(), "GET", server.URL+"/quick", ""))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(resp.Body); err != nil {
			t.Fatal(err)
		}
	}
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before+20; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}
