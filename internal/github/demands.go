package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

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
	methods   []string // of merging, that all rules allow; any if nil
	hidden    bool     // the token may not read the protection
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

// branchRule is a rule of a ruleset. go-github's own type fails on kinds that it does not know.
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
		d.methods = common(d.methods, p.Allow)
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

// common are the methods that two rules allow; a rule that names none allows all.
func common(a, b []string) []string {
	if a == nil || b == nil {
		return append(a, b...)
	}
	return slices.DeleteFunc(slices.Clone(a), func(m string) bool { return !slices.Contains(b, m) })
}
