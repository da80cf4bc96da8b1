package github

import (
	"context"
	"fmt"
	"slices"

	gh "github.com/google/go-github/v66/github"
)

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
