package github

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"colophon/publish"

	gh "github.com/google/go-github/v66/github"
)

// pullEffect opens the intent's one pull request.
type pullEffect struct{ change }

func (e pullEffect) Operation() publish.Operation { return e.operation(publish.PullRequestName) }

func (pullEffect) Traits() publish.Traits {
	return publish.Traits{Class: publish.Reconciled, LookFirst: true, LookAfter: true}
}

func (e pullEffect) Find(ctx context.Context, prior publish.Prior) (publish.Finding, error) {
	if number, err := strconv.Atoi(prior.Receipt.ID); err == nil {
		return e.confirm(ctx, number)
	}
	look := "GET pulls of " + e.plan.Branch
	pulls, err := e.pulls(ctx, e.in, e.plan.Branch)
	if err != nil {
		return publish.Finding{}, err
	}
	switch {
	case len(pulls.foreign) > 0:
		return foreign("pull_request_of_someone_else", look, pulls.describe()), nil
	case len(pulls.ours) > 1:
		f := foreign("several_pull_requests", look, fmt.Sprintf("%d pull requests carry this intent's marker", len(pulls.ours)))
		f.Presence = publish.Several
		return f, nil
	case len(pulls.ours) == 0:
		return absent(look, "there is none, open or closed"), nil
	}
	return e.judge(look, pulls.ours[0]), nil
}

// confirm reads the pull request by number. It also makes GitHub begin to compute mergeability.
func (e pullEffect) confirm(ctx context.Context, number int) (publish.Finding, error) {
	pull, f, err := e.pull(ctx, e.in.BaseBranch, number)
	if pull == nil {
		return f, err
	}
	return e.judge(fmt.Sprintf("GET pulls/%d", number), pull), nil
}

// pull reads a pull request whose number is known. One that cannot be found is not gone, since GitHub deletes
// none: the read lags behind, and the finding, of a nil pull request, says so; unless the base branch cannot be
// found either, for then it is the repository that is out of reach.
func (r *Repository) pull(ctx context.Context, base string, number int) (*gh.PullRequest, publish.Finding, error) {
	pull, resp, err := r.client.PullRequests.Get(ctx, r.owner, r.name, number)
	switch {
	case missing(resp, err):
		if _, ok, tipErr := r.tip(ctx, base); tipErr != nil {
			return nil, publish.Finding{}, tipErr
		} else if !ok {
			return nil, publish.Finding{}, read(fmt.Sprintf("pull request %d", number), err)
		}
		return nil, notReady("pull_request_lags", headPause, fmt.Sprintf("GET pulls/%d", number), fmt.Sprintf("pull request %d is not shown yet", number)), nil
	case err != nil:
		return nil, publish.Finding{}, read(fmt.Sprintf("pull request %d", number), err)
	}
	return pull, publish.Finding{}, nil
}

func (e pullEffect) judge(look string, pull *gh.PullRequest) publish.Finding {
	switch {
	case !e.in.HasMarker(pull.GetBody()):
		return foreign("pull_request_of_someone_else", look, fmt.Sprintf("pull request %d does not carry this intent's marker", pull.GetNumber()))
	case pull.GetState() == "closed" && !pull.GetMerged() && pull.MergedAt == nil:
		return foreign("pull_request_closed", look, fmt.Sprintf("pull request %d was closed without a merge", pull.GetNumber()))
	}
	return present(look, "open pull request "+strconv.Itoa(pull.GetNumber()), pullReceipt(pull))
}

func (e pullEffect) Apply(ctx context.Context, _ publish.Prior) (publish.Receipt, error) {
	pull, resp, err := e.client.PullRequests.Create(ctx, e.owner, e.name, &gh.NewPullRequest{
		Title: gh.String("Publish " + e.plan.Title), Head: gh.String(e.plan.Branch), Base: gh.String(e.in.BaseBranch),
		Body: gh.String(e.in.PullRequestBody(e.plan)), MaintainerCanModify: gh.Bool(false),
	})
	if err != nil {
		return publish.Receipt{}, sent("create pull request", err)
	}
	r := pullReceipt(pull)
	r.Status = resp.StatusCode
	if pull.GetNumber() <= 0 || r.URL == "" || pull.GetHead().GetRef() != e.plan.Branch {
		return publish.Receipt{}, &publish.Trouble{Kind: publish.Unknown, Condition: "empty_answer", Detail: "create pull request: the answer lacks number, URL or branch", Status: resp.StatusCode}
	}
	return r, nil
}

func pullReceipt(pull *gh.PullRequest) publish.Receipt {
	return publish.Receipt{ID: strconv.Itoa(pull.GetNumber()), URL: pull.GetHTMLURL(), SHA: publish.SHA(pull.GetHead().GetSHA())}
}

// found are the pull requests of one branch, told apart by the marker.
type found struct{ ours, foreign []*gh.PullRequest }

func (f found) describe() string {
	p := f.foreign[0]
	return fmt.Sprintf("pull request %d (%s) on branch %s is not this intent's", p.GetNumber(), p.GetState(), p.GetHead().GetRef())
}

// pulls lists the pull requests, open or closed, from branch into the base. GitHub ignores a head it
// does not understand and answers every pull request, so each is checked again here.
func (r *Repository) pulls(ctx context.Context, in publish.Intent, branch string) (found, error) {
	var f found
	opts := &gh.PullRequestListOptions{
		State: "all", Head: r.owner + ":" + branch, Base: in.BaseBranch, ListOptions: gh.ListOptions{PerPage: 100},
	}
	for {
		page, resp, err := r.client.PullRequests.List(ctx, r.owner, r.name, opts)
		if err != nil {
			return found{}, read("pull requests of "+branch, err)
		}
		for _, p := range page {
			mine := p.GetHead().GetRef() == branch && p.GetBase().GetRef() == in.BaseBranch &&
				(p.GetHead().GetRepo() == nil || strings.EqualFold(p.GetHead().GetRepo().GetFullName(), in.Repository))
			switch {
			case !mine:
			case in.HasMarker(p.GetBody()):
				f.ours = append(f.ours, p)
			default:
				f.foreign = append(f.foreign, p)
			}
		}
		if resp.NextPage == 0 {
			return f, nil
		}
		opts.Page = resp.NextPage
	}
}
