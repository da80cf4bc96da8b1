// Package openapitest holds requests and answers against GitHub's own OpenAPI description: whether they have the
// described shape, not what they mean.
package openapitest

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
)

//go:embed github.json
var source []byte

// Description is GitHub's description, for a server at one address. It is safe for concurrent use.
type Description struct {
	router routers.Router

	mu   sync.Mutex
	seen map[string]bool
}

// New reads the description for a server.
func New(t testing.TB, url string) *Description {
	t.Helper()
	raw := source
	// These parameters hold slashes.
	for _, path := range []string{"/git/ref/{ref}", "/git/refs/{ref}", "/git/matching-refs/{ref}", "/contents/{path}", "/rules/branches/{branch}"} {
		raw = bytes.ReplaceAll(raw, []byte(path+`"`), []byte(strings.TrimSuffix(path, "}")+`:.+}"`))
	}
	doc, err := openapi3.NewLoader().LoadFromData(raw)
	if err != nil {
		t.Fatal(err)
	}
	doc.Servers = openapi3.Servers{{URL: url}}
	r, err := gorillamux.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	return &Description{router: r, seen: map[string]bool{}}
}

// Seen says which operations have been checked, as "GET /repos/{owner}/{repo}".
func (d *Description) Seen() map[string]bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := map[string]bool{}
	for k := range d.seen {
		out[k] = true
	}
	return out
}

// Answer checks an answer's shape.
func (d *Description) Answer(t testing.TB, req *http.Request, status int, header http.Header, body []byte) {
	t.Helper()
	in, ok := d.find(t, req)
	if !ok {
		return
	}
	if in.Route.Operation.Responses.Status(status) == nil {
		// GitHub describes bad credentials and broken JSON once, for all of the API, in prose.
		if status != http.StatusUnauthorized && status != http.StatusBadRequest {
			t.Errorf("%s %s: GitHub's description has no answer %d", req.Method, in.Route.Path, status)
		}
		return
	}
	err := openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: status, Header: header, Body: io.NopCloser(bytes.NewReader(body)),
		Options: &openapi3filter.Options{MultiError: true},
	})
	if err != nil {
		t.Errorf("%s %s: answer %d has not the shape that GitHub describes: %.1500s", req.Method, in.Route.Path, status, err.Error())
	}
}

// Request checks a request's shape: its parameters and its body.
func (d *Description) Request(t testing.TB, req *http.Request, body []byte) {
	t.Helper()
	in, ok := d.find(t, req)
	if !ok {
		return
	}
	in.Request = req.Clone(context.Background())
	in.Request.Body = io.NopCloser(bytes.NewReader(body))
	in.Options = &openapi3filter.Options{MultiError: true, AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}
	if err := openapi3filter.ValidateRequest(context.Background(), in); err != nil {
		t.Errorf("%s %s: the request has not the shape that GitHub describes: %.1500s", req.Method, in.Route.Path, err.Error())
	}
}

func (d *Description) find(t testing.TB, req *http.Request) (*openapi3filter.RequestValidationInput, bool) {
	t.Helper()
	route, params, err := d.router.FindRoute(req)
	if err != nil {
		t.Error(fmt.Errorf("%s %s is not in GitHub's description: %w", req.Method, req.URL.Path, err))
		return nil, false
	}
	d.mu.Lock()
	d.seen[req.Method+" "+route.Path] = true
	d.mu.Unlock()
	return &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route}, true
}
