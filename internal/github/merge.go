package github

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"colophon/publish"

	gh "github.com/google/go-github/v66/github"
)

// Pauses between looks at what GitHub computes or waits for.
const (
	mergeabilityPause = 2 * time.Second
	headPause         = 5 * time.Second
	checksPause       = 30 * time.Second
)

// mergeEffect merges the pull request, with the commit that was planned and no other.
//
// A merge can land in Git while its pull request stays open, and a second request would then merge
// again. So after any earlier attempt the base branch is looked at before the pull request is
// believed: the article's blob under a commit with this intent's trailers has landed.
type mergeEffect struct{ change }

func (e mergeEffect) Operation() publish.Operation { return e.operation("merge") }

func (mergeEffect) Traits() publish.Traits {
	return publish.Traits{Class: publish.Reconciled, LookFirst: true, LookAfter: true}
}

func (e mergeEffect) Find(ctx context.Context, prior publish.Prior) (publish.Finding, error) {
	look := fmt.Sprintf("GET pulls/%d", e.plan.PullRequest)
	pull, f, err := e.pull(ctx, e.in.BaseBranch, e.plan.PullRequest)
	if pull == nil {
		return f, err
	}
	if pull.GetMerged() {
		return e.merged(look, pull), nil
	}
	if prior.Attempts > 0 {
		if f, landed, err := e.landed(ctx, pull); err != nil || landed {
			return f, err
		}
	}
	if f, stop, err := e.head(ctx, look, pull); err != nil || stop {
		return f, err
	}
	return e.ready(ctx, look, pull)
}

func (e mergeEffect) merged(look string, pull *gh.PullRequest) publish.Finding {
	sha := publish.SHA(pull.GetMergeCommitSHA())
	if !sha.Valid() {
		return notReady("merge_commit_unknown", mergeabilityPause, look, "merged, and the merge commit is not told yet")
	}
	if head := publish.SHA(pull.GetHead().GetSHA()); head != e.plan.Commit {
		return foreign("merged_other_head", look, fmt.Sprintf("pull request %d was merged at %s, not at this article's %s", e.plan.PullRequest, head.Short(), e.plan.Commit.Short()))
	}
	return present(look, "merged as "+sha.Short(), publish.Receipt{ID: strconv.Itoa(e.plan.PullRequest), URL: pull.GetHTMLURL(), SHA: sha})
}

// landed looks at the base branch itself: our blob at our path, and a commit with our trailers.
func (e mergeEffect) landed(ctx context.Context, pull *gh.PullRequest) (publish.Finding, bool, error) {
	tip, ok, err := e.tip(ctx, e.in.BaseBranch)
	if err != nil || !ok {
		return publish.Finding{}, false, err
	}
	if tip == e.plan.Parent {
		return publish.Finding{}, false, nil
	}
	file, _, resp, err := e.client.Repositories.GetContents(ctx, e.owner, e.name, e.in.Path, &gh.RepositoryContentGetOptions{Ref: string(tip)})
	if missing(resp, err) {
		return publish.Finding{}, false, nil
	}
	if err != nil {
		return publish.Finding{}, false, read("article on the base branch", err)
	}
	if publish.SHA(file.GetSHA()) != e.plan.Blob {
		return publish.Finding{}, false, nil
	}
	commits, _, err := e.client.Repositories.ListCommits(ctx, e.owner, e.name, &gh.CommitsListOptions{
		SHA: string(tip), Path: e.in.Path, ListOptions: gh.ListOptions{PerPage: 20},
	})
	if err != nil {
		return publish.Finding{}, false, read("commits of the article", err)
	}
	for _, c := range commits {
		if e.in.HasTrailers(c.GetCommit().GetMessage()) {
			f := present("GET commits of "+e.in.Path+" at "+tip.Short(),
				"the base branch holds the article; the pull request's record is stale",
				publish.Receipt{ID: strconv.Itoa(e.plan.PullRequest), URL: pull.GetHTMLURL(), SHA: publish.SHA(c.GetSHA())})
			f.Condition, f.Detail = "merged_record_stale", "merged; the pull request still says open"
			return f, true, nil
		}
	}
	return publish.Finding{}, false, nil
}

// head stops at a pull request whose head is not the planned commit, and waits where only the pull
// request's record lags behind the branch.
func (e mergeEffect) head(ctx context.Context, look string, pull *gh.PullRequest) (publish.Finding, bool, error) {
	head := publish.SHA(pull.GetHead().GetSHA())
	if head == e.plan.Commit {
		return publish.Finding{}, false, nil
	}
	tip, ok, err := e.tip(ctx, e.plan.Branch)
	if err != nil {
		return publish.Finding{}, false, err
	}
	if ok && tip == e.plan.Commit {
		return notReady("head_lags", headPause, look, "the pull request has not noticed the branch's commit yet"), true, nil
	}
	return foreign("head_changed", look, fmt.Sprintf("the pull request's head is %s, not this article's %s", head.Short(), e.plan.Commit.Short())), true, nil
}

// ready says whether the pull request may be merged now, and if not, why. Checks that are not required hold
// nothing up.
func (e mergeEffect) ready(ctx context.Context, look string, pull *gh.PullRequest) (publish.Finding, error) {
	switch {
	case pull.GetState() == "closed":
		return foreign("pull_request_closed", look, fmt.Sprintf("pull request %d was closed without a merge", e.plan.PullRequest)), nil
	case pull.GetDraft():
		return foreign("pull_request_draft", look, fmt.Sprintf("pull request %d is a draft", e.plan.PullRequest)), nil
	case pull.Mergeable == nil:
		return notReady("mergeability_unknown", mergeabilityPause, look, "GitHub is computing whether it can be merged"), nil
	case !pull.GetMergeable():
		return foreign("merge_conflict", look, fmt.Sprintf("pull request %d conflicts with %s", e.plan.PullRequest, e.in.BaseBranch)), nil
	case pull.GetMergeableState() == "behind":
		return foreign("branch_behind", look, fmt.Sprintf("%s takes only branches that are up to date, and updating this one would change the commit; let the token bypass the rule, or merge by hand", e.in.BaseBranch)), nil
	case pull.GetMergeableState() == "blocked":
		return e.gate(ctx, pull)
	}
	return absent(look, "open and mergeable"), nil
}

func (e mergeEffect) Apply(ctx context.Context, _ publish.Prior) (publish.Receipt, error) {
	res, resp, err := e.client.PullRequests.Merge(ctx, e.owner, e.name, e.plan.PullRequest, e.in.MergeMessage(), &gh.PullRequestOptions{
		CommitTitle: e.in.MergeTitle(e.plan), SHA: string(e.plan.Commit), MergeMethod: e.method,
	})
	if err != nil {
		return publish.Receipt{}, sent("merge", err)
	}
	sha := publish.SHA(res.GetSHA())
	if !res.GetMerged() || !sha.Valid() {
		return publish.Receipt{}, &publish.Trouble{Kind: publish.Unknown, Condition: "empty_answer", Detail: "merge: the answer does not say merged with a SHA", Status: resp.StatusCode}
	}
	return publish.Receipt{ID: strconv.Itoa(e.plan.PullRequest), SHA: sha, Status: resp.StatusCode}, nil
}

// removalEffect removes the merged branch, so that a request to open a pull request which arrives late
// finds nothing to open it from. Its effect is present when the branch is gone: then no pull request from it is
// open either, since GitHub closes those with it. It is made after the merge, and once more, by sweeping, if a
// request to create the branch has arrived since.
type removalEffect struct {
	change
	what string
}

func (e removalEffect) Operation() publish.Operation { return e.operation(e.what) }

// Traits: there is no look right after, for a branch can come back, by a request that was sent before and arrives
// late. That it is gone is looked at when none can any more, by sweeping.
func (removalEffect) Traits() publish.Traits {
	return publish.Traits{Class: publish.Reconciled, LookFirst: true}
}

func (e removalEffect) Find(ctx context.Context, _ publish.Prior) (publish.Finding, error) {
	look := "GET ref " + e.plan.Branch
	tip, ok, err := e.tip(ctx, e.plan.Branch)
	switch {
	case err != nil:
		return publish.Finding{}, err
	case !ok:
		return present(look, "the branch is gone", publish.Receipt{ID: "nothing left"}), nil
	case tip != e.plan.Commit:
		return foreign("branch_moved_on", look, fmt.Sprintf("branch %s has moved to %s since the merge; it is left alone", e.plan.Branch, tip.Short())), nil
	}
	return absent(look, "still at "+tip.Short()), nil
}

func (e removalEffect) Apply(ctx context.Context, _ publish.Prior) (publish.Receipt, error) {
	resp, err := e.client.Git.DeleteRef(ctx, e.owner, e.name, "heads/"+e.plan.Branch)
	if err != nil {
		return publish.Receipt{}, sent("remove branch", err)
	}
	return publish.Receipt{ID: "removed", Status: resp.StatusCode}, nil
}
