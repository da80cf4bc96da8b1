package github

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestRulesChecksAndReviewsHaveTheShapeThatGitHubDescribes(t *testing.T) {
	c := newChecked(t, 0)
	number := c.article("colophon/a", "posts/a.md", "a\n")
	head := c.tip("colophon/a")
	c.server.Set(func(s *Settings) {
		s.Rules = []Rule{RequireChecks("build"), RequireReviews(1), {Type: "required_linear_history"}, {Type: "required_signatures"}}
		s.Protection = &Protection{Checks: []string{"lint"}, Reviews: 1, Signatures: true, Linear: true}
		s.Checks, s.Statuses = []Check{{"build", "failure"}, {"slow", ""}}, []Status{{"lint", "pending"}}
		s.Reviews = []Review{{"ada", "APPROVED"}}
	})
	for path, want := range map[string]string{
		"/rules/branches/main": `"context":"build"`, "/branches/main/protection": `"contexts":["lint"]`, "/commits/" + head + "/check-runs": `"conclusion":"failure"`,
		"/commits/" + head + "/status": `"state":"pending"`, "/pulls/" + number + "/reviews": `"APPROVED"`,
	} {
		if status, raw := c.raw("GET", path, nil); status != 200 || !strings.Contains(string(raw), want) {
			t.Errorf("%s: %d %s", path, status, raw)
		}
	}
	c.server.Set(func(s *Settings) { s.Hidden = true })
	if status, _ := c.raw("GET", "/branches/main/protection", nil); status != 404 {
		t.Errorf("a hidden protection: %d", status)
	}
	if _, p := c.call("GET", "/pulls/"+number, nil); p["mergeable_state"] != "blocked" {
		t.Errorf("mergeable_state %v", p["mergeable_state"])
	}
}

// TestAMergeIsRefusedForWhatIsOutstanding: each demand alone, with GitHub's words, and nothing once it is met.
func TestAMergeIsRefusedForWhatIsOutstanding(t *testing.T) {
	for name, r := range map[string]struct {
		set, meet func(*Settings)
		status    int
		says      string
	}{
		"check missing": {func(s *Settings) { s.Rules = []Rule{RequireChecks("build")} }, func(s *Settings) { s.Checks = []Check{{"build", "success"}} }, 405, `\"build\" is expected`},
		"status failing": {func(s *Settings) {
			s.Protection = &Protection{Checks: []string{"ci"}}
			s.Statuses = []Status{{"ci", "failure"}}
		}, func(s *Settings) { s.Statuses = []Status{{"ci", "success"}} }, 405, `\"ci\" is failing`},
		"review missing":   {func(s *Settings) { s.Rules = []Rule{RequireReviews(1)} }, func(s *Settings) { s.Reviews = []Review{{"ada", "APPROVED"}} }, 405, "approving review is required"},
		"changes wanted":   {func(s *Settings) { s.Reviews = []Review{{"ada", "CHANGES_REQUESTED"}} }, func(s *Settings) { s.Reviews = nil }, 405, "Changes have been requested"},
		"unsigned":         {func(s *Settings) { s.Rules = []Rule{{Type: "required_signatures"}} }, func(s *Settings) { s.Rules = nil }, 405, "verified signatures"},
		"queue":            {func(s *Settings) { s.Rules = []Rule{{Type: "merge_queue"}} }, func(s *Settings) { s.Rules = nil }, 405, "merge queue"},
		"linear":           {func(s *Settings) { s.Protection = &Protection{Linear: true} }, func(s *Settings) { s.Protection = nil }, 405, "must not contain merge commits"},
		"method off":       {func(s *Settings) { s.Methods = []string{"squash"} }, func(s *Settings) { s.Methods = nil }, 405, "Merge commits are not allowed"},
		"archived":         {func(s *Settings) { s.Archived = true }, func(s *Settings) { s.Archived = false }, 403, "archived so is read-only"},
		"read-only token":  {func(s *Settings) { s.ReadOnly = true }, func(s *Settings) { s.ReadOnly = false }, 403, "Resource not accessible"},
		"base modified":    {func(s *Settings) { s.BaseModified = 1 }, func(*Settings) {}, 405, "Base branch was modified"},
		"under way":        {func(s *Settings) { s.MergeInProgress = 1 }, func(*Settings) {}, 405, "Merge already in progress"},
		"moved repository": {func(s *Settings) { s.Moved = true }, func(s *Settings) { s.Moved = false }, 307, "Temporary Redirect"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newChecked(t, 0)
			number := c.article("colophon/a", "posts/a.md", "a\n")
			c.server.Set(r.set)
			status, body := c.plain("PUT", "/pulls/"+number+"/merge", `{"merge_method":"merge"}`)
			if status != r.status || !strings.Contains(body, r.says) || c.server.Counts().Merges != 0 {
				t.Errorf("%d %s", status, body)
			}
			c.server.Set(r.meet)
			if status, body := c.plain("PUT", "/pulls/"+number+"/merge", `{"merge_method":"merge"}`); status != 200 {
				t.Errorf("once it is met: %d %s", status, body)
			}
		})
	}
}

func TestARebaseKeepsAuthorAndMessageUnderAnotherName(t *testing.T) {
	c := newChecked(t, 0)
	c.server.Set(func(s *Settings) { s.Methods = []string{"rebase"} })
	number := c.article("colophon/a", "posts/a.md", "a\n")
	head, base := c.tip("colophon/a"), c.tip("main")
	if status, body := c.plain("PUT", "/pulls/"+number+"/merge", `{"merge_method":"rebase","sha":"`+head+`"}`); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	_, was := c.call("GET", "/git/commits/"+head, nil)
	_, now := c.call("GET", "/git/commits/"+c.tip("main"), nil)
	parents, _ := json.Marshal(now["parents"])
	if now["sha"] == head || now["message"] != was["message"] || !strings.Contains(string(parents), base) || len(now["parents"].([]any)) != 1 {
		t.Errorf("%v from %v", now, was)
	}
}

// TestRecordsLagBehind: a pull request can be late to know its head, and that it was merged.
func TestRecordsLagBehind(t *testing.T) {
	c := newChecked(t, 0)
	c.server.Set(func(s *Settings) { s.HeadLag, s.RecordLag = 1, 1 })
	number := c.article("colophon/a", "posts/a.md", "a\n")
	sha := func() any {
		_, p := c.call("GET", "/pulls/"+number, nil)
		return p["head"].(map[string]any)["sha"]
	}
	if first, second := sha(), sha(); first != c.tip("main") || second != c.tip("colophon/a") {
		t.Errorf("heads %v, then %v", first, second)
	}
	if status, body := c.plain("PUT", "/pulls/"+number+"/merge", "{}"); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	for _, want := range []any{false, true} {
		if _, p := c.call("GET", "/pulls/"+number, nil); p["merged"] != want {
			t.Errorf("merged %v, want %v", p["merged"], want)
		}
	}
}
