package fault

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// good is a server without faults.
var good = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"id":1}`) })

// ask is one request, with what is answered.
func ask(h http.Handler, method, path, body string) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest(method, path, strings.NewReader(body)))
	return rec
}

func TestAnAnswerIsWithheldUntilTheClientLeaves(t *testing.T) {
	layer := New(good)
	layer.Add(Rule{Kind: HangAfter})
	over := make(chan struct{})
	port, err := Listen(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		defer close(over)
		layer.ServeHTTP(w, req)
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer port.Close()
	ctx, leave := context.WithCancel(context.Background())
	go func() {
		req, _ := http.NewRequestWithContext(ctx, "POST", port.URL(), nil)
		if resp, err := http.DefaultClient.Do(req); err == nil {
			resp.Body.Close()
			t.Errorf("answered: %d", resp.StatusCode)
		}
	}()
	within, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := layer.Wait(within, 1); err != nil {
		t.Fatal(err)
	}
	select {
	case <-over:
		t.Error("over while the client waits")
	default:
	}
	leave()
	select {
	case <-over:
	case <-within.Done():
		t.Error("not over after the client has left")
	}
}

func TestARuleIsForTheRequestsItNames(t *testing.T) {
	layer := New(good)
	layer.Add(Rule{Method: "PUT", Path: "/merge$", Kind: StatusBefore, Status: 502, Times: 2})
	layer.Add(Rule{Path: "^/busy", Kind: StatusBefore, Status: 429, Times: -1, RetryAfter: "7", Header: map[string]string{"X-RateLimit-Remaining": "0"}})
	for n, c := range []struct {
		method, path string
		want         int
	}{
		{"GET", "/merge", 200},
		{"PUT", "/merge/x", 200},
		{"PUT", "/pulls/1/merge", 502},
		{"PUT", "/pulls/2/merge", 502},
		{"PUT", "/pulls/3/merge", 200},
		{"GET", "/busy", 429},
		{"PUT", "/busy/merge", 429},
	} {
		got := ask(layer, c.method, c.path, "")
		if got.Code != c.want {
			t.Errorf("%d: %s %s: %d, want %d", n, c.method, c.path, got.Code, c.want)
		}
		if c.want == 429 && (got.Header().Get("Retry-After") != "7" || got.Header().Get("X-RateLimit-Remaining") != "0") {
			t.Errorf("%d: headers %v", n, got.Header())
		}
	}
	if hits := layer.Hits(); len(hits) != 4 || hits[0].Rule != 0 || hits[3].Rule != 1 {
		t.Errorf("%+v", hits)
	}
}

func TestAStaleReadFindsNothingAndAChangeIsLetThrough(t *testing.T) {
	layer := New(good)
	layer.Add(Rule{Kind: Stale})
	if got := ask(layer, "POST", "/pulls", "{}"); got.Code != 200 {
		t.Errorf("a change: %d", got.Code)
	}
	if got := ask(layer, "GET", "/pulls/1", ""); got.Code != 404 || !strings.Contains(got.Body.String(), "Not Found") {
		t.Errorf("a read: %d %s", got.Code, got.Body)
	}
	if got := ask(layer, "GET", "/pulls/1", ""); got.Code != 200 {
		t.Errorf("the next read: %d", got.Code)
	}
}

func TestAStaleReadAnswersWhatItAnsweredBefore(t *testing.T) {
	n := 0
	layer := New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n++
		fmt.Fprint(w, n)
	}))
	ask(layer, "GET", "/list?page=1", "")
	layer.Add(Rule{Kind: Stale, Times: 2})
	if got := ask(layer, "GET", "/list?page=1", ""); got.Code != 200 || got.Body.String() != "1" {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if got := ask(layer, "GET", "/list?page=2", ""); got.Code != 404 {
		t.Errorf("what was never read: %d %s", got.Code, got.Body)
	}
	if got := ask(layer, "GET", "/list?page=1", ""); got.Body.String() != "2" {
		t.Errorf("the next read: %s", got.Body)
	}
}

func TestALateEffectLandsAtTheRequestItWaitsFor(t *testing.T) {
	for _, behind := range []bool{false, true} {
		var order []string
		layer := New(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { order = append(order, r.Method+r.URL.Path) }))
		layer.Add(Rule{Path: "late", Kind: LateEffect, Lands: &Landing{Method: "GET", After: 2, Behind: behind}})
		func() {
			defer func() { _ = recover() }() // the recorder is no connection that can be reset
			ask(layer, "POST", "/late", "")
		}()
		for _, path := range []string{"/1", "/2", "/3"} {
			ask(layer, "GET", path, "")
			ask(layer, "PUT", path, "")
		}
		want := "GET/1 PUT/1 POST/late GET/2 PUT/2 GET/3 PUT/3"
		if behind {
			want = "GET/1 PUT/1 GET/2 POST/late PUT/2 GET/3 PUT/3"
		}
		if got := strings.Join(order, " "); got != want {
			t.Errorf("behind %v: %s", behind, got)
		}
	}
}

func TestFaultsAreOrderedByHTTP(t *testing.T) {
	layer := New(good)
	admin := layer.Admin()
	if got := ask(admin, "GET", "/faults", ""); strings.TrimSpace(got.Body.String()) != "[]" {
		t.Errorf("no hits: %s", got.Body)
	}
	for name, rule := range map[string]string{
		"no JSON": `{`, "no kind": `{}`, "unknown kind": `{"kind":"bogus"}`, "bad path": `{"kind":"stale","path":"("}`, "unknown name": `{"kind":"stale","methods":"GET"}`,
	} {
		if got := ask(admin, "POST", "/faults", rule); got.Code != 400 {
			t.Errorf("%s: %d", name, got.Code)
		}
	}
	if got := ask(layer, "GET", "/x", ""); got.Code != 200 {
		t.Errorf("a refused rule is in force: %d", got.Code)
	}
	if got := ask(admin, "POST", "/faults", `{"kind":"status_before","status":503,"times":-1}`); got.Code != 204 {
		t.Errorf("a rule: %d %s", got.Code, got.Body)
	}
	if got := ask(layer, "GET", "/x", ""); got.Code != 503 {
		t.Errorf("in force: %d", got.Code)
	}
	if got := ask(admin, "GET", "/faults", ""); !strings.Contains(got.Body.String(), `"kind":"status_before","method":"GET","path":"/x"`) {
		t.Errorf("hits: %s", got.Body)
	}
	if got := ask(admin, "DELETE", "/faults", ""); got.Code != 204 {
		t.Errorf("clearing: %d", got.Code)
	}
	if got := ask(layer, "GET", "/x", ""); got.Code != 200 {
		t.Errorf("cleared, and yet: %d", got.Code)
	}
	if got := ask(admin, "PATCH", "/faults", ""); got.Code != 405 {
		t.Errorf("another method: %d", got.Code)
	}
}

func TestAWrongRuleIsNotAddedSilently(t *testing.T) {
	for _, r := range []Rule{{Kind: "bogus"}, {Kind: Stale, Path: "("}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v was added", r)
				}
			}()
			New(good).Add(r)
		}()
	}
}
