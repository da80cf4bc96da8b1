package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"colophon/publish"

	gh "github.com/google/go-github/v66/github"
)

// demands are what the base branch asks of a pull request, from its rulesets and its protection together.
type demands struct {
	checks    []string // of check runs or statuses, by name
	approvals int
	signed    bool
	linear    bool
	queue     bool
	threads   bool     // conversations must be resolved
	deploy    []string // environments
	methods   []string // of merging; any if empty
	hidden    bool     // the token may not read the protection
}

// gate says why GitHub calls a pull request blocked: by name, what fails, what is outstanding, and what can
// never be met by waiting. It is asked only then, since GitHub itself enforces what it demands.
func (e mergeEffect) gate(ctx context.Context, pull *gh.PullRequest) (publish.Finding, error) {
	d, err := e.demands(ctx)
	if err != nil {
		return publish.Finding{}, err
	}
	look := "GET rules and protection of " + e.in.BaseBranch
	if f, stop := d.impossible(look, e.method); stop {
		return f, nil
	}
	failed, outstanding, err := e.checks(ctx, d.checks)
	if err != nil {
		return publish.Finding{}, err
	}
	if len(failed) > 0 {
		return foreign("check_failed", "GET check runs and statuses", "required checks have failed: "+strings.Join(failed, ", ")+"; mend the cause and run them again"), nil
	}
	approvals, against, err := e.reviews(ctx, pull.GetNumber())
	if err != nil {
		return publish.Finding{}, err
	}
	switch {
	case len(against) > 0:
		return foreign("changes_requested", "GET reviews", strings.Join(against, ", ")+" asked for changes; settle that in the review, or publish a new draft under a new key"), nil
	case len(outstanding) > 0:
		return notReady("checks_outstanding", checksPause, "GET check runs and statuses", "waits for required checks: "+strings.Join(outstanding, ", ")), nil
	case approvals < d.approvals:
		return notReady("review_outstanding", reviewPause, "GET reviews", fmt.Sprintf("waits for reviews: %d of %d required approvals", approvals, d.approvals)), nil
	case len(d.deploy) > 0:
		return notReady("deployment_outstanding", reviewPause, look, "waits for deployments to "+strings.Join(d.deploy, ", ")), nil
	case d.threads:
		return notReady("conversations_open", reviewPause, look, "waits for the review's conversations to be resolved"), nil
	}
	why := "GitHub says blocked; its rules and reviews give no reason that can be read"
	if d.hidden {
		why = "GitHub says blocked; the token may not read the branch's protection, which would say why"
	}
	return notReady("checks_or_reviews", reviewPause, look, why), nil
}

// impossible finds demands that this change can never meet.
func (d demands) impossible(look, method string) (publish.Finding, bool) {
	switch {
	case d.queue:
		return foreign("merge_queue", look, "this branch merges through a queue, which makes its own commits; let the token bypass the rule, or put the pull request into the queue by hand"), true
	case d.signed:
		return foreign("signed_commits", look, "this branch takes signed commits only, and a commit whose name is known before cannot be signed by GitHub; let the token bypass the rule"), true
	case d.linear && method == "merge":
		return foreign("merge_method_not_allowed", look, "this branch takes no merge commits; set repository.merge_method to squash or rebase"), true
	case len(d.methods) > 0 && !slices.Contains(d.methods, method):
		return foreign("merge_method_not_allowed", look, fmt.Sprintf("this branch does not take the method %s; set repository.merge_method to %s", method, strings.Join(d.methods, " or "))), true
	}
	return publish.Finding{}, false
}

// demands reads what the base branch demands. The protection can be read with administration rights alone;
// without them the rulesets have to do.
func (e mergeEffect) demands(ctx context.Context) (demands, error) {
	var d demands
	rules, err := e.rules(ctx)
	if err != nil {
		return d, err
	}
	for _, r := range rules {
		if err := d.add(r); err != nil {
			return d, err
		}
	}
	p, resp, err := e.client.Repositories.GetBranchProtection(ctx, e.owner, e.name, e.in.BaseBranch)
	switch {
	case errors.Is(err, gh.ErrBranchNotProtected):
		return d, nil
	case resp != nil && (resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusForbidden) && err != nil:
		if _, limit := limited(err); limit {
			return d, read("protection of "+e.in.BaseBranch, err)
		}
		d.hidden = true
		return d, nil
	case err != nil:
		return d, read("protection of "+e.in.BaseBranch, err)
	}
	if c := p.RequiredStatusChecks; c != nil && c.Checks != nil {
		for _, check := range *c.Checks {
			d.checks = append(d.checks, check.Context)
		}
	} else if c != nil && c.Contexts != nil {
		d.checks = append(d.checks, *c.Contexts...)
	}
	if r := p.RequiredPullRequestReviews; r != nil {
		d.approvals = max(d.approvals, r.RequiredApprovingReviewCount)
	}
	d.signed = d.signed || p.RequiredSignatures.GetEnabled()
	d.linear = d.linear || p.RequireLinearHistory != nil && p.RequireLinearHistory.Enabled
	d.threads = d.threads || p.RequiredConversationResolution != nil && p.RequiredConversationResolution.Enabled
	return d, nil
}

// rule is a rule of a ruleset. go-github's own type fails on kinds that it does not know.
type branchRule struct {
	Type       string
	Parameters json.RawMessage
}

func (e mergeEffect) rules(ctx context.Context) ([]branchRule, error) {
	var all []branchRule
	for page := 1; page != 0; {
		req, err := e.client.NewRequest(http.MethodGet, fmt.Sprintf("repos/%s/%s/rules/branches/%s?per_page=100&page=%d", e.owner, e.name, e.in.BaseBranch, page), nil)
		if err != nil {
			return nil, err
		}
		var got []branchRule
		resp, err := e.client.Do(ctx, req, &got)
		if err != nil {
			return nil, read("rules of "+e.in.BaseBranch, err)
		}
		all, page = append(all, got...), resp.NextPage
	}
	return all, nil
}

func (d *demands) add(r branchRule) error {
	var p struct {
		Checks []struct{ Context string } `json:"required_status_checks"`
		Count  int                        `json:"required_approving_review_count"`
		Thread bool                       `json:"required_review_thread_resolution"`
		Allow  []string                   `json:"allowed_merge_methods"`
		Envs   []string                   `json:"required_deployment_environments"`
	}
	if len(r.Parameters) > 0 {
		if err := json.Unmarshal(r.Parameters, &p); err != nil {
			return fmt.Errorf("read rule %s: %w", r.Type, err)
		}
	}
	switch r.Type {
	case "required_status_checks":
		for _, c := range p.Checks {
			d.checks = append(d.checks, c.Context)
		}
	case "pull_request":
		d.approvals, d.threads = max(d.approvals, p.Count), d.threads || p.Thread
		if d.methods == nil {
			d.methods = p.Allow
		}
	case "required_deployments":
		d.deploy = append(d.deploy, p.Envs...)
	case "required_signatures":
		d.signed = true
	case "required_linear_history":
		d.linear = true
	case "merge_queue":
		d.queue = true
	}
	return nil
}

// checks reads check runs and statuses, which are two things at GitHub with names in one space, and says of
// the required ones which have failed and which have not passed yet.
func (e mergeEffect) checks(ctx context.Context, required []string) (failed, outstanding []string, err error) {
	if len(required) == 0 {
		return nil, nil, nil
	}
	state := map[string]string{} // by name: passed, failed, or running
	runs := &gh.ListCheckRunsOptions{Filter: gh.String("latest"), ListOptions: gh.ListOptions{PerPage: 100}}
	for {
		page, resp, err := e.client.Checks.ListCheckRunsForRef(ctx, e.owner, e.name, string(e.plan.Commit), runs)
		if err != nil {
			return nil, nil, read("check runs of "+e.plan.Commit.Short(), err)
		}
		for _, r := range page.CheckRuns {
			worst(state, r.GetName(), checkState(r))
		}
		if resp.NextPage == 0 {
			break
		}
		runs.Page = resp.NextPage
	}
	statuses := &gh.ListOptions{PerPage: 100}
	for {
		page, resp, err := e.client.Repositories.GetCombinedStatus(ctx, e.owner, e.name, string(e.plan.Commit), statuses)
		if err != nil {
			return nil, nil, read("statuses of "+e.plan.Commit.Short(), err)
		}
		for _, s := range page.Statuses {
			worst(state, s.GetContext(), map[string]string{"success": passed, "failure": failing, "error": failing}[s.GetState()])
		}
		if resp.NextPage == 0 {
			break
		}
		statuses.Page = resp.NextPage
	}
	slices.Sort(required)
	for _, name := range slices.Compact(required) {
		switch state[name] {
		case passed:
		case failing:
			failed = append(failed, name)
		default:
			outstanding = append(outstanding, name)
		}
	}
	return failed, outstanding, nil
}

// How a check or status stands; "" while it runs or has not been heard of.
const (
	passed  = "passed"
	failing = "failed"
)

func checkState(r *gh.CheckRun) string {
	if r.GetStatus() != "completed" {
		return ""
	}
	switch r.GetConclusion() {
	case "success", "neutral", "skipped":
		return passed
	case "stale":
		return ""
	}
	return failing
}

// worst keeps the worse of two states of one name: two apps may report under it.
func worst(state map[string]string, name, now string) {
	was, known := state[name]
	switch {
	case !known || was == passed:
		state[name] = now
	case now == failing:
		state[name] = failing
	}
}

// reviews counts, of each reviewer's last word, approvals, and lists who asked for changes.
func (e mergeEffect) reviews(ctx context.Context, number int) (approvals int, against []string, err error) {
	last := map[string]string{}
	opts := &gh.ListOptions{PerPage: 100}
	for {
		page, resp, err := e.client.PullRequests.ListReviews(ctx, e.owner, e.name, number, opts)
		if err != nil {
			return 0, nil, read(fmt.Sprintf("reviews of pull request %d", number), err)
		}
		for _, r := range page {
			if state := r.GetState(); state != "COMMENTED" && state != "PENDING" {
				last[r.GetUser().GetLogin()] = state
			}
		}
		if resp.NextPage == 0 {
			break
		}
		opts.Page = resp.NextPage
	}
	for who, state := range last {
		switch state {
		case "APPROVED":
			approvals++
		case "CHANGES_REQUESTED":
			against = append(against, who)
		}
	}
	slices.Sort(against)
	return approvals, against, nil
}

// reviewPause is how often it is looked whether people have done their part.
const reviewPause = time.Minute
