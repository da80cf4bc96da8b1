package github

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"colophon/publish"

	gh "github.com/google/go-github/v66/github"
)

// limitPause is what GitHub asks for when a limit's answer names no time.
// https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api
const limitPause = time.Minute

// rule reads one documented refusal.
type rule struct {
	status int
	part   string // of the message, in lower case; GitHub has no codes for these
	kind   publish.Kind
	name   publish.Condition
	next   string
}

// refused is what GitHub's documented refusals of our mutations prove. "Unknown" marks those that can
// also mean that the change has already been made: they are looked into, not believed.
var refused = []rule{
	{422, "reference already exists", publish.Unknown, "ref_exists", ""},
	{422, "reference does not exist", publish.Unknown, "ref_gone", ""},
	{422, "reference update failed", publish.Rejected, "ref_refused", "check the branch protection rules, and for a branch whose name is a folder of this one"},
	{422, "a pull request already exists", publish.Unknown, "pull_request_exists", ""},
	{422, "no commits between", publish.Rejected, "nothing_to_merge", "the base branch already holds this commit; look at the branch"},
	{405, "base branch was modified", publish.Unknown, "base_modified", ""},
	{405, "merge already in progress", publish.Unknown, "merge_in_progress", ""},
	{405, "not mergeable", publish.Unknown, "not_mergeable", ""},
	{405, "status check", publish.Deferred, "checks_outstanding", ""},
	{405, "review is required", publish.Deferred, "review_outstanding", ""},
	{405, "changes have been requested", publish.Deferred, "changes_requested", ""},
	{405, "not allowed on this repository", publish.Rejected, "merge_method_not_allowed", "set repository.merge_method to a method that the repository allows; then decide retry"},
	{405, "must not contain merge commits", publish.Rejected, "merge_method_not_allowed", "set repository.merge_method to squash or rebase; then decide retry"},
	{405, "merge queue", publish.Rejected, "merge_queue", "let the token bypass the queue's rule, then decide retry; or put the pull request into the queue by hand"},
	{405, "signature", publish.Rejected, "signed_commits", "let the token bypass the rule for signed commits, then decide retry"},
	{405, "", publish.Rejected, "merge_refused", "look at the repository's rules, required checks and allowed merge methods; then decide retry"},
	{409, "head branch was modified", publish.Unknown, "head_lags", ""},
	{409, "out of date", publish.Unknown, "head_lags", ""},
	{409, "git repository is empty", publish.Rejected, "repository_empty", "push a first commit to the base branch"},
	{409, "", publish.Unknown, "conflicting_write", ""},
	{401, "", publish.Halted, "bad_credentials", "renew the GitHub token"},
	{403, "archived", publish.Rejected, "repository_archived", "unarchive the repository, or publish into another under a new key; then decide retry"},
	{403, "secondary rate limit", publish.Deferred, "rate_limited", ""},
	{403, "rate limit exceeded", publish.Deferred, "rate_limited", ""},
	{403, "", publish.Rejected, "forbidden", "give the token write access to contents and pull requests"},
	{404, "", publish.Rejected, "not_found", "check the repository's name and that the token can see it"},
	{400, "", publish.Rejected, "bad_request", ""},
	{410, "", publish.Rejected, "gone", ""},
	{422, "", publish.Rejected, "invalid", ""},
	{451, "", publish.Rejected, "unavailable_for_legal_reasons", ""},
	{301, "", publish.Halted, "repository_moved", "put the repository's new name into the configuration"},
	{302, "", publish.Halted, "repository_moved", "put the repository's new name into the configuration"},
	{307, "", publish.Halted, "repository_moved", "put the repository's new name into the configuration"},
	{308, "", publish.Halted, "repository_moved", "put the repository's new name into the configuration"},
}

// sent reads what the answer to a mutation proves. Whatever is on no list proves nothing.
func sent(what string, err error) error {
	if t, ok := errors.AsType[*publish.Trouble](err); ok {
		return t
	}
	if after, ok := limited(err); ok {
		return &publish.Trouble{Kind: publish.Deferred, Condition: "rate_limited", Detail: what + ": GitHub's rate limit", Status: status(err), After: after}
	}
	answer, ok := errors.AsType[*gh.ErrorResponse](err)
	if !ok || answer.Response == nil {
		return &publish.Trouble{Kind: publish.Unknown, Condition: "no_answer", Detail: what + ": no trustworthy answer", Err: publish.WithoutURL(err)}
	}
	code, text := answer.Response.StatusCode, message(answer)
	for _, r := range refused {
		if r.status == code && strings.Contains(strings.ToLower(text), r.part) {
			t := &publish.Trouble{Kind: r.kind, Condition: r.name, Detail: what + ": " + text, Next: r.next, Status: code}
			if r.name == "rate_limited" { // a pause of all changes, where other deferrals are of this one alone
				t.After = limitPause
			}
			return t
		}
	}
	return &publish.Trouble{Kind: publish.Unknown, Condition: "server_error", Detail: strings.TrimSpace(what + ": " + text), Status: code}
}

// limited says whether err is a rate limit, and how long it asks to wait.
func limited(err error) (time.Duration, bool) {
	if e, ok := errors.AsType[*gh.RateLimitError](err); ok {
		return max(time.Until(e.Rate.Reset.Time), time.Second), true
	}
	if e, ok := errors.AsType[*gh.AbuseRateLimitError](err); ok {
		if e.RetryAfter != nil {
			return max(*e.RetryAfter, time.Second), true
		}
		return limitPause, true
	}
	e, ok := errors.AsType[*gh.ErrorResponse](err)
	if !ok || e.Response == nil {
		return 0, false
	}
	pause, named := asked(e.Response.Header)
	switch e.Response.StatusCode {
	case http.StatusTooManyRequests:
		return pause, true
	case http.StatusForbidden:
		return pause, named
	}
	return 0, false
}

// asked is how long an answer asks to wait: as Retry-After says, or until the limit that is used up is reset;
// else as GitHub's documentation asks, and then it was not named.
func asked(h http.Header) (pause time.Duration, named bool) {
	if after, err := strconv.Atoi(h.Get("Retry-After")); err == nil && after > 0 {
		return time.Duration(after) * time.Second, true
	}
	if reset, err := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64); err == nil && h.Get("X-RateLimit-Remaining") == "0" {
		return max(time.Until(time.Unix(reset, 0)), time.Second), true
	}
	return limitPause, false
}

// read explains a read that failed. A rate limit or a definite refusal is said by name; the rest is
// passed on. What a failed read proves about an effect is nothing.
func read(what string, err error) error {
	if after, ok := limited(err); ok {
		return &publish.Trouble{Kind: publish.Deferred, Condition: "rate_limited", Detail: "read " + what + ": GitHub's rate limit", Status: status(err), After: after}
	}
	if t, ok := errors.AsType[*publish.Trouble](sent("read "+what, err)); ok && (t.Kind == publish.Rejected || t.Kind == publish.Halted) {
		t.Kind = publish.Halted
		return t
	}
	return fmt.Errorf("read %s: %w", what, publish.WithoutURL(err))
}

func missing(resp *gh.Response, err error) bool {
	return err != nil && resp != nil && resp.StatusCode == http.StatusNotFound
}

func status(err error) int {
	if e, ok := errors.AsType[*gh.ErrorResponse](err); ok && e.Response != nil {
		return e.Response.StatusCode
	}
	return 0
}

// message joins what GitHub said, its errors included.
func message(e *gh.ErrorResponse) string {
	parts := []string{e.Message}
	for _, d := range e.Errors {
		if d.Message != "" {
			parts = append(parts, d.Message)
		}
	}
	return strings.Join(parts, ": ")
}
