package github

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"colophon/internal/permit"
	hub "colophon/internal/sandbox/github"
	"colophon/internal/sandbox/github/openapitest"
	"colophon/publish"
)

// TestRequestsHaveTheShapeThatGitHubDescribes lets the adapter do all it can, and holds each of its requests, and
// each answer, against GitHub's own description.
func TestRequestsHaveTheShapeThatGitHubDescribes(t *testing.T) {
	ctx := context.Background()
	b := newBench(t)
	var described *openapitest.Description
	between := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		described.Request(t, req, body)
		req.Body = io.NopCloser(bytes.NewReader(body))
		rec := httptest.NewRecorder()
		b.GitHub.ServeHTTP(rec, req)
		described.Answer(t, req, rec.Code, rec.Header(), rec.Body.Bytes())
		for name, values := range rec.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(rec.Code)
		_, _ = w.Write(rec.Body.Bytes())
	}))
	t.Cleanup(between.Close)
	described = openapitest.New(t, between.URL)
	b.GitHub.Set(func(s *hub.Settings) {
		s.Rules, s.Protection = []hub.Rule{hub.RequireChecks("build"), hub.RequireReviews(1)}, &hub.Protection{Checks: []string{"lint"}, Reviews: 1}
		s.RecordLag = 1 // so that the base branch is looked at
		s.Statuses = []hub.Status{{Context: "lint", State: "success"}}
	})
	r, err := New(b.repo.client.Client(), Options{API: between.URL, Repository: intent().Repository, MergeMethod: "merge"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.Plan(ctx, intent(), publish.Plan{Draft: "d", Title: "Look", Author: b.plan.Author}, draft)
	if err != nil || p != b.plan {
		t.Fatalf("%+v, %v", p, err)
	}
	for _, step := range []publish.Step{publish.Branch, publish.PullRequest, publish.Merge, publish.Sweep} {
		for _, e := range r.Effects(step, intent(), p, draft) {
			for _, prior := range []publish.Prior{{}, {State: publish.Unconfirmed, Attempts: 1}} {
				if _, err := e.Find(ctx, prior); err != nil {
					t.Errorf("%s: %v", e.Operation().What, err)
				}
			}
			if e.Operation().What == "merge" { // what it was looked for is met
				b.GitHub.Set(func(s *hub.Settings) {
					s.Checks, s.Reviews = []hub.Check{{Name: "build", Conclusion: "success"}}, []hub.Review{{User: "ada", State: "APPROVED"}}
				})
			}
			_, err := e.Apply(permit.Grant(ctx), publish.Prior{})
			if got := publish.AsTrouble(err); err != nil && got.Condition != "ref_gone" {
				t.Errorf("%s: %v", e.Operation().What, err)
			}
			if step == publish.PullRequest {
				p.PullRequest = 1
			}
			if _, err := e.Find(ctx, publish.Prior{State: publish.Unconfirmed, Attempts: 1}); err != nil {
				t.Errorf("%s: %v", e.Operation().What, err)
			}
		}
	}
	seen := described.Seen()
	var names []string
	for name := range seen {
		names = append(names, name)
	}
	if slices.Sort(names); len(names) != 18 {
		t.Errorf("only %d operations: %v", len(names), names)
	}
}
