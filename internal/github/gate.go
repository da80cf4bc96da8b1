package github

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"colophon/publish"

	gh "github.com/google/go-github/v66/github"
)

// reviewPause is how often it is looked whether people have done their part.
const reviewPause = time.Minute

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
	case d.methods != nil && !slices.Contains(d.methods, method):
		return foreign("merge_method_not_allowed", look, fmt.Sprintf("this branch does not take the method %s; its rules allow: %s; set repository.merge_method to match", method, strings.Join(d.methods, ", "))), true
	}
	return publish.Finding{}, false
}
