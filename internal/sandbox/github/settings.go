package github

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Settings are what a team has set about its repository, and what happens to be the case. They can be
// changed at any time, by Set.
type Settings struct {
	Archived bool
	ReadOnly bool     // the token may read and not write
	Moved    bool     // the repository has another name now
	Methods  []string // of merging, that are switched on; "merge" and "squash" unless set

	Rules      []Rule      // of rulesets, for the base branch
	Protection *Protection // of the base branch, the older way
	Hidden     bool        // the token may not read the protection

	Checks   []Check  // runs on every pull request's head
	Statuses []Status // likewise
	Reviews  []Review // of every pull request

	ChecksDelay     int // reads of check runs until they have ended
	Nulls           int // reads until mergeability is known, after a pull request, its head or its base has changed
	HeadLag         int // reads and merges until a new pull request knows its head
	RecordLag       int // reads until a pull request says that it was merged
	BaseModified    int // merges that are refused because the base has just moved
	MergeInProgress int // merges that are refused because another is under way
	MergeDenied     int // merges that land, and are answered as not mergeable
	MergeUnrecorded int // merges that land in Git alone: a 502 for an answer, and the pull request stays open
}

// Rule is one rule of a ruleset, as GitHub's API names it.
type Rule struct {
	Type       string
	Parameters map[string]any
}

// RequireChecks is the rule that these checks or statuses must pass.
func RequireChecks(names ...string) Rule {
	checks := []any{}
	for _, n := range names {
		checks = append(checks, map[string]any{"context": n})
	}
	return Rule{"required_status_checks", map[string]any{"required_status_checks": checks, "strict_required_status_checks_policy": false}}
}

// RequireReviews is the rule that n people must approve.
func RequireReviews(n int) Rule {
	return Rule{"pull_request", map[string]any{
		"required_approving_review_count": n, "dismiss_stale_reviews_on_push": false, "require_code_owner_review": false,
		"require_last_push_approval": false, "required_review_thread_resolution": false,
	}}
}

// Protection is a branch's protection.
type Protection struct {
	Checks     []string
	Reviews    int
	Signatures bool
	Linear     bool
}

// Check is a check run; Conclusion is empty until it has ended.
type Check struct{ Name, Conclusion string }

// Status is a commit status: success, pending, failure or error.
type Status struct{ Context, State string }

// Review is a person's review: APPROVED, CHANGES_REQUESTED or COMMENTED.
type Review struct{ User, State string }

// Set changes the settings.
func (s *Server) Set(f func(*Settings)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.settings)
}

func (s *Server) allows(method string) bool {
	if s.settings.Methods == nil {
		return method == "merge" || method == "squash"
	}
	return slices.Contains(s.settings.Methods, method)
}

// writable refuses a change to a repository that cannot be changed.
func (s *Server) writable() *failure {
	switch {
	case s.settings.Archived:
		return fail(http.StatusForbidden, "Repository was archived so is read-only.")
	case s.settings.ReadOnly:
		return fail(http.StatusForbidden, "Resource not accessible by personal access token")
	}
	return nil
}

// count uses one of a number of occurrences up.
func count(n *int) bool {
	if *n > 0 {
		*n--
		return true
	}
	return false
}

// demands gathers what the rules and the protection ask of a pull request.
func (s *Server) demands() (checks []string, reviews int, signed, linear, queue bool) {
	for _, r := range s.settings.Rules {
		switch r.Type {
		case "required_status_checks":
			for _, c := range r.Parameters["required_status_checks"].([]any) {
				checks = append(checks, c.(map[string]any)["context"].(string))
			}
		case "pull_request":
			reviews = max(reviews, r.Parameters["required_approving_review_count"].(int))
		case "required_signatures":
			signed = true
		case "required_linear_history":
			linear = true
		case "merge_queue":
			queue = true
		}
	}
	if p := s.settings.Protection; p != nil {
		checks, reviews, signed, linear = append(checks, p.Checks...), max(reviews, p.Reviews), signed || p.Signatures, linear || p.Linear
	}
	return checks, reviews, signed, linear, queue
}

// outstanding is GitHub's reason against merging what the rules demand more of; "" if they demand nothing.
func (s *Server) outstanding(method string) string {
	checks, reviews, signed, linear, queue := s.demands()
	for _, name := range checks {
		switch s.standing(name) {
		case "success", "neutral", "skipped":
		case "":
			return fmt.Sprintf("Required status check %q is expected.", name)
		default:
			return fmt.Sprintf("Required status check %q is failing.", name)
		}
	}
	approvals := 0
	for _, r := range s.settings.Reviews {
		switch r.State {
		case "APPROVED":
			approvals++
		case "CHANGES_REQUESTED":
			return "Changes have been requested by reviewers with write access."
		}
	}
	switch {
	case approvals < reviews:
		return fmt.Sprintf("At least %d approving review is required by reviewers with write access.", reviews)
	case signed:
		return "Commits must have verified signatures."
	case linear && method == "merge":
		return "This branch must not contain merge commits."
	case queue:
		return "Changes must be made through the merge queue"
	}
	return ""
}

// standing is how a check or status of a name has ended; "" while it has not.
func (s *Server) standing(name string) string {
	for _, c := range s.settings.Checks {
		if c.Name == name && s.settings.ChecksDelay == 0 {
			return c.Conclusion
		}
	}
	for _, c := range s.settings.Statuses {
		if c.Context == name {
			return strings.TrimPrefix(c.State, "pending")
		}
	}
	return ""
}

// unstable says whether anything, required or not, has not passed.
func (s *Server) unstable() bool {
	return slices.ContainsFunc(s.settings.Checks, func(c Check) bool { return c.Conclusion != "success" }) ||
		slices.ContainsFunc(s.settings.Statuses, func(c Status) bool { return c.State != "success" })
}
