package channel

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"colophon/publish"
)

func TestAnswersAreReadWhole(t *testing.T) {
	answer := func(kind, body string) *http.Response {
		return &http.Response{Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(body))}
	}
	var v struct{ ID string }
	if err := ReadJSON(answer("application/json; charset=utf-8", `{"id":"7"}`), &v); err != nil || v.ID != "7" {
		t.Errorf("%v, %v", v, err)
	}
	for name, r := range map[string]*http.Response{
		"cut": answer("application/json", `{"id":"7`), "empty": answer("application/json", ""),
		"html": answer("text/html", `{"id":"7"}`), "trailing": answer("application/json", `{"id":"7"}{`),
	} {
		if ReadJSON(r, &v) == nil {
			t.Errorf("%s: believed", name)
		}
	}
}

func TestRetryAfterIsReadInEveryVendorsForm(t *testing.T) {
	now := time.Date(2026, 10, 4, 9, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name, value string
		want        time.Duration
	}{
		{"Retry-After", "30", 30 * time.Second},
		{"Retry-After", "Sun, 04 Oct 2026 09:01:00 GMT", time.Minute},
		{"X-RateLimit-Reset", "2026-10-04T09:05:00.000Z", 5 * time.Minute},
		{"x-rate-limit-reset", "x", 0},
		{"RateLimit-Reset", "1791104520", 120 * time.Second},
		{"Retry-After", "-5", 0},
		{"Retry-After", "soon", 0},
	} {
		h := http.Header{}
		h.Set(c.name, c.value)
		if got := RetryAfter(h, now); got != c.want {
			t.Errorf("%s: %s = %v, want %v", c.name, c.value, got, c.want)
		}
	}
}

func TestTemplatesAreStrict(t *testing.T) {
	for template, good := range map[string]bool{"{title}\n{url} {tags}": true, "{title}": false, "{url} {tilte}": false, "{url} {}": false} {
		if err := CheckTemplate(template); (err == nil) != good {
			t.Errorf("%q: %v", template, err)
		}
	}
	got := Compose("{title}\n\n{url} {tags}", publish.Announcement{Title: "A {url} in a title", URL: "https://e/", Tags: []string{"open source", "go"}})
	if got != "A {url} in a title\n\nhttps://e/ #opensource #go" {
		t.Errorf("%q", got)
	}
}

func TestOnlyListedRefusalsProveAnything(t *testing.T) {
	for status, want := range map[int]publish.Kind{
		400: publish.Rejected, 401: publish.Halted, 403: publish.Rejected, 404: publish.Rejected, 422: publish.Rejected, 429: publish.Deferred,
		408: publish.Unknown, 409: publish.Unknown, 425: publish.Unknown, 500: publish.Unknown, 502: publish.Unknown, 503: publish.Unknown, 307: publish.Unknown, 201: publish.Unknown,
	} {
		if got := Refused("post", status, "no", true, 0); got.Kind != want {
			t.Errorf("%d: %s, want %s", status, got.Kind, want)
		}
		if got := Refused("post", status, "", false, 0); got.Kind == publish.Rejected {
			t.Errorf("%d that cannot be read is taken for a rejection", status)
		}
	}
}
