package github

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"colophon/internal/permit"
	"colophon/internal/sandbox/fault"
	hub "colophon/internal/sandbox/github"
	"colophon/publish"
)

// TestAMergeWaitsForWhatIsOutstandingAndStopsAtWhatIsNot puts each demand of a protected branch before an open
// pull request: what the look says, by name, and that it lets the merge through once the demand is met.
func TestAMergeWaitsForWhatIsOutstandingAndStopsAtWhatIsNot(t *testing.T) {
	checks, reviews := hub.RequireChecks("build", "lint"), hub.RequireReviews(1)
	green := []hub.Check{{Name: "build", Conclusion: "success"}}
	for name, c := range map[string]struct {
		set       func(*hub.Settings)
		presence  publish.Presence
		condition publish.Condition
		says      string
	}{
		"nothing has run": {func(s *hub.Settings) { s.Rules = []hub.Rule{checks} }, publish.NotReady, "checks_outstanding", "build, lint"},
		"one is running": {func(s *hub.Settings) {
			s.Rules, s.Checks = []hub.Rule{checks}, append(green, hub.Check{Name: "lint"})
		}, publish.NotReady, "checks_outstanding", "lint"},
		"a status is pending": {func(s *hub.Settings) {
			s.Rules, s.Checks, s.Statuses = []hub.Rule{checks}, green, []hub.Status{{Context: "lint", State: "pending"}}
		}, publish.NotReady, "checks_outstanding", "lint"},
		"a check is red": {func(s *hub.Settings) {
			s.Rules, s.Checks = []hub.Rule{checks}, append(green, hub.Check{Name: "lint", Conclusion: "timed_out"})
		}, publish.Foreign, "check_failed", "lint"},
		"a status is red": {func(s *hub.Settings) {
			s.Rules, s.Checks, s.Statuses = []hub.Rule{checks}, green, []hub.Status{{Context: "lint", State: "error"}}
		}, publish.Foreign, "check_failed", "lint"},
		"protected, missing":   {func(s *hub.Settings) { s.Protection = &hub.Protection{Checks: []string{"ci"}} }, publish.NotReady, "checks_outstanding", "ci"},
		"protection is hidden": {func(s *hub.Settings) { s.Protection, s.Hidden = &hub.Protection{Checks: []string{"ci"}}, true }, publish.NotReady, "checks_or_reviews", "may not read"},
		"no review":            {func(s *hub.Settings) { s.Rules = []hub.Rule{reviews} }, publish.NotReady, "review_outstanding", "0 of 1"},
		"comments are none": {func(s *hub.Settings) {
			s.Rules, s.Reviews = []hub.Rule{reviews}, []hub.Review{{User: "ada", State: "COMMENTED"}}
		}, publish.NotReady, "review_outstanding", "0 of 1"},
		"changes are wanted": {func(s *hub.Settings) {
			s.Rules, s.Reviews = []hub.Rule{reviews}, []hub.Review{{User: "ada", State: "CHANGES_REQUESTED"}}
		}, publish.Foreign, "changes_requested", "ada"},
		"a queue":        {func(s *hub.Settings) { s.Rules = []hub.Rule{{Type: "merge_queue"}} }, publish.Foreign, "merge_queue", "queue"},
		"signed commits": {func(s *hub.Settings) { s.Protection = &hub.Protection{Signatures: true} }, publish.Foreign, "signed_commits", "signed"},
		"rules with a method in common": {func(s *hub.Settings) {
			s.Rules = []hub.Rule{allow("merge", "squash"), allow("merge", "rebase"), reviews}
		}, publish.NotReady, "review_outstanding", "0 of 1"},
		"rules without one": {func(s *hub.Settings) {
			s.Rules = []hub.Rule{allow("merge", "squash"), allow("squash"), reviews}
		}, publish.Foreign, "merge_method_not_allowed", "squash"},
		"a rule of the future": {func(s *hub.Settings) { s.Rules = []hub.Rule{{Type: "full_moon"}, reviews} }, publish.NotReady, "review_outstanding", "0 of 1"},
		"all is met": {func(s *hub.Settings) {
			s.Rules, s.Protection = []hub.Rule{checks, reviews}, &hub.Protection{Checks: []string{"build"}, Reviews: 1}
			s.Checks, s.Statuses = append(green, hub.Check{Name: "optional", Conclusion: "failure"}), []hub.Status{{Context: "lint", State: "success"}}
			s.Reviews = []hub.Review{{User: "ada", State: "APPROVED"}}
		}, publish.Absent, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.do(t, 4)
			b.GitHub.Set(c.set)
			f, err := b.effects(t)[4].Find(context.Background(), publish.Prior{})
			if err != nil || f.Presence != c.presence || f.Condition != c.condition || !strings.Contains(f.Detail, c.says) {
				t.Errorf("%+v, %v", f, err)
			}
			if (f.Presence == publish.NotReady) != (f.Wait > 0) {
				t.Errorf("waits %s", f.Wait)
			}
			if _, err := b.effects(t)[4].Apply(permit.Grant(context.Background()), publish.Prior{}); (err == nil) != (c.presence == publish.Absent) {
				t.Errorf("the merge itself: %v", err)
			}
		})
	}
}

// TestEveryRefusalHasItsName: a change that is refused for good is told from one that may be asked for again,
// and each says what to do (kargo#6490).
func TestEveryRefusalHasItsName(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(*hub.Settings)
		kind publish.Kind
		cond publish.Condition
	}{
		"archived":        {func(s *hub.Settings) { s.Archived = true }, publish.Rejected, "repository_archived"},
		"read-only token": {func(s *hub.Settings) { s.ReadOnly = true }, publish.Rejected, "forbidden"},
		"moved":           {func(s *hub.Settings) { s.Moved = true }, publish.Halted, "repository_moved"},
		"method off":      {func(s *hub.Settings) { s.Methods = []string{"squash"} }, publish.Rejected, "merge_method_not_allowed"},
		"linear":          {func(s *hub.Settings) { s.Protection = &hub.Protection{Linear: true} }, publish.Rejected, "merge_method_not_allowed"},
		"queue":           {func(s *hub.Settings) { s.Rules = []hub.Rule{{Type: "merge_queue"}} }, publish.Rejected, "merge_queue"},
		"signatures":      {func(s *hub.Settings) { s.Protection = &hub.Protection{Signatures: true} }, publish.Rejected, "signed_commits"},
		"check expected":  {func(s *hub.Settings) { s.Rules = []hub.Rule{hub.RequireChecks("build")} }, publish.Deferred, "checks_outstanding"},
		"review expected": {func(s *hub.Settings) { s.Rules = []hub.Rule{hub.RequireReviews(1)} }, publish.Deferred, "review_outstanding"},
		"base modified":   {func(s *hub.Settings) { s.BaseModified = 1 }, publish.Unknown, "base_modified"},
		"under way":       {func(s *hub.Settings) { s.MergeInProgress = 1 }, publish.Unknown, "merge_in_progress"},
		"landed, denied":  {func(s *hub.Settings) { s.MergeDenied = 1 }, publish.Unknown, "not_mergeable"},
	} {
		b := newBench(t)
		b.do(t, 4)
		b.GitHub.Set(c.set)
		_, err := b.effects(t)[4].Apply(permit.Grant(context.Background()), publish.Prior{})
		got := publish.AsTrouble(err)
		if got.Kind != c.kind || got.Condition != c.cond {
			t.Errorf("%s: %s %s: %v", name, got.Kind, got.Condition, err)
		}
		if (got.Kind == publish.Rejected || got.Kind == publish.Halted) && got.Next == "" {
			t.Errorf("%s does not say what to do", name)
		}
	}
}

// TestLimitsNameTheirPause: the primary limit by its reset, the secondary one by its header or, without one, a
// minute, whatever status they come with.
func TestLimitsNameTheirPause(t *testing.T) {
	reset := time.Now().Add(20 * time.Minute)
	for name, c := range map[string]struct {
		rule  fault.Rule
		after time.Duration
	}{
		"primary":             {fault.Rule{Status: 403, Header: map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": unix(reset)}}, 19 * time.Minute},
		"primary, 429":        {fault.Rule{Status: 429, Header: map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": unix(reset)}}, 19 * time.Minute},
		"secondary":           {fault.Rule{Status: 403, RetryAfter: "300"}, 300 * time.Second},
		"secondary, 429":      {fault.Rule{Status: 429, RetryAfter: "300"}, 300 * time.Second},
		"secondary, no time":  {fault.Rule{Status: http.StatusTooManyRequests}, time.Minute},
		"secondary, in words": {fault.Rule{Status: 403, Body: `{"message":"You have exceeded a secondary rate limit. Please wait a few minutes before you try again.","documentation_url":"https://docs.github.com/rest"}`}, time.Minute},
	} {
		b := newBench(t)
		c.rule.Method, c.rule.Kind = "POST", fault.StatusBefore
		b.GitHubFaults.Add(c.rule)
		_, err := b.effects(t)[0].Apply(permit.Grant(context.Background()), publish.Prior{})
		got := publish.AsTrouble(err)
		if got.Kind != publish.Deferred || got.Condition != "rate_limited" || got.After < c.after || got.After > c.after+2*time.Minute {
			t.Errorf("%s: %s %s after %s: %v", name, got.Kind, got.Condition, got.After, err)
		}
	}
}

// TestEveryMethodOfMergingLandsTheArticleOnce: by squash and rebase the commit on the base has another name;
// the article and its trailers are found all the same, also when the pull request's record is stale.
func TestEveryMethodOfMergingLandsTheArticleOnce(t *testing.T) {
	ctx := context.Background()
	for _, method := range []string{"merge", "squash", "rebase"} {
		for _, recorded := range []bool{true, false} {
			b := newBench(t)
			b.GitHub.Set(func(s *hub.Settings) { s.Methods = []string{method} })
			b.do(t, 4)
			if !recorded {
				b.GitHub.Set(func(s *hub.Settings) { s.MergeUnrecorded = 1 })
			}
			b.repo.method = method
			e := b.repo.Effects(publish.Merge, intent(), b.plan, draft)[0]
			if _, err := e.Apply(permit.Grant(ctx), publish.Prior{}); (err == nil) != recorded {
				t.Fatalf("%s: %v", method, err)
			}
			f, err := e.Find(ctx, publish.Prior{State: publish.Unconfirmed, Attempts: 1})
			plain, merges := b.GitHub.History()
			if err != nil || f.Presence != publish.Present || !f.Receipt.SHA.Valid() || len(plain) != 1 || len(merges) != map[string]int{"merge": 1}[method] {
				t.Errorf("%s: %+v, %v; commits %v, merges %v", method, f, err, plain, merges)
			}
		}
	}
}

// TestAPullRequestThatIsNotFoundLagsOrIsOutOfReach: while the repository answers, it is waited for; when the token
// sees nothing any more, that is said at once.
func TestAPullRequestThatIsNotFoundLagsOrIsOutOfReach(t *testing.T) {
	b := newBench(t)
	b.do(t, 4)
	for _, e := range b.effects(t)[3:5] {
		prior := publish.Prior{State: publish.Done, Attempts: 1, Receipt: publish.Receipt{ID: "1"}}
		b.GitHubFaults.Add(fault.Rule{Path: "/pulls/1$", Kind: fault.StatusBefore, Status: 404, Body: `{"message":"Not Found"}`, Times: 2})
		if f, err := e.Find(context.Background(), prior); err != nil || f.Presence != publish.NotReady || f.Condition != "pull_request_lags" || f.Wait == 0 {
			t.Errorf("%s: %+v, %v", e.Operation().What, f, err)
		}
		b.GitHubFaults.Add(fault.Rule{Path: "/git/ref/heads/main$", Kind: fault.StatusBefore, Status: 404, Body: `{"message":"Not Found"}`})
		_, err := e.Find(context.Background(), prior)
		if got := publish.AsTrouble(err); got.Kind != publish.Halted || got.Condition != "not_found" || got.Next == "" {
			t.Errorf("%s: %v", e.Operation().What, err)
		}
		b.GitHubFaults.Clear()
	}
}

// allow is a rule that names methods of merging.
func allow(methods ...string) hub.Rule {
	r := hub.RequireReviews(0)
	r.Parameters["allowed_merge_methods"] = methods
	return r
}

func unix(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) }

// TestAReadThatIsNotWholeIsNoRead: an empty success, a page in HTML and a tree that is not the commit's prove
// nothing: no plan is made of them, and nothing is taken for absent.
func TestAReadThatIsNotWholeIsNoRead(t *testing.T) {
	ctx := context.Background()
	for _, kind := range []fault.Kind{fault.EmptyBody, fault.WrongType, fault.CutBody} {
		for skip := range 4 {
			b := newBench(t)
			clear(b.repo.listings) // what was read whole before is not read again
			b.GitHubFaults.Add(fault.Rule{Method: "GET", Kind: kind, Skip: skip})
			p, err := b.repo.Plan(ctx, intent(), publish.Plan{Draft: "d", Title: "Look", Author: b.plan.Author}, draft)
			if err == nil && p != b.plan || err == nil && len(b.GitHubFaults.Hits()) > 0 {
				t.Errorf("%s of read %d: planned %+v, want %+v", kind, skip, p, b.plan)
			}
		}
		b := newBench(t)
		b.do(t, 4)
		for i, e := range b.effects(t) {
			b.GitHubFaults.Clear()
			b.GitHubFaults.Add(fault.Rule{Method: "GET", Kind: kind})
			if f, err := e.Find(ctx, publish.Prior{State: publish.Unconfirmed, Attempts: 1}); err == nil {
				t.Errorf("%s: effect %d is taken for %s", kind, i, f.Presence)
			}
		}
	}
	b := newBench(t)
	b.GitHubFaults.Add(fault.Rule{Method: "GET", Path: "/git/trees/", Kind: fault.Stale, Status: 200, Body: `{"sha":"` + string(b.plan.Base) + `","tree":[],"truncated":false}`})
	b.GitHubFaults.Add(fault.Rule{Method: "GET", Path: "/git/commits/", Kind: fault.Stale, Status: 200, Body: `{"sha":"` + string(b.plan.Parent) + `"}`})
	for range 2 {
		clear(b.repo.listings)
		if p, err := b.repo.Plan(ctx, intent(), publish.Plan{Author: b.plan.Author}, draft); err == nil {
			t.Errorf("planned on a tree that is not the commit's: %+v", p)
		}
	}
}
