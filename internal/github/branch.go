package github

import (
	"context"
	"fmt"
	"time"

	"colophon/publish"

	gh "github.com/google/go-github/v66/github"
)

// treeEffect stores the article and the tree that holds it. Objects are content-addressed and
// invisible until a ref moves, so sending them again is harmless.
type treeEffect struct {
	change
	article []byte
}

func (e treeEffect) Operation() publish.Operation { return e.operation("tree") }

func (treeEffect) Traits() publish.Traits { return publish.Traits{Class: publish.Idempotent} }

func (e treeEffect) Find(ctx context.Context, _ publish.Prior) (publish.Finding, error) {
	_, resp, err := e.client.Git.GetTree(ctx, e.owner, e.name, string(e.plan.Tree), false)
	return objectFinding("tree", e.plan.Tree, resp, err)
}

func (e treeEffect) Apply(ctx context.Context, _ publish.Prior) (publish.Receipt, error) {
	tree, resp, err := e.client.Git.CreateTree(ctx, e.owner, e.name, string(e.plan.Base), []*gh.TreeEntry{{
		Path: gh.String(e.in.Path), Mode: gh.String("100644"), Type: gh.String("blob"), Content: gh.String(string(e.article)),
	}})
	if err != nil {
		return publish.Receipt{}, sent("create tree", err)
	}
	return object("tree", tree.GetSHA(), e.plan.Tree, resp)
}

// commitEffect stores the article's commit, whose name is known before.
type commitEffect struct{ change }

func (e commitEffect) Operation() publish.Operation { return e.operation("commit") }

func (commitEffect) Traits() publish.Traits { return publish.Traits{Class: publish.Idempotent} }

func (e commitEffect) Find(ctx context.Context, _ publish.Prior) (publish.Finding, error) {
	_, resp, err := e.client.Git.GetCommit(ctx, e.owner, e.name, string(e.plan.Commit))
	return objectFinding("commit", e.plan.Commit, resp, err)
}

func (e commitEffect) Apply(ctx context.Context, _ publish.Prior) (publish.Receipt, error) {
	a := e.plan.Author
	who := &gh.CommitAuthor{
		Name: gh.String(a.Name), Email: gh.String(a.Email),
		Date: &gh.Timestamp{Time: a.Date.UTC().Truncate(time.Second)},
	}
	commit, resp, err := e.client.Git.CreateCommit(ctx, e.owner, e.name, &gh.Commit{
		Message: gh.String(e.in.CommitMessage(e.plan)), Tree: &gh.Tree{SHA: gh.String(string(e.plan.Tree))},
		Parents: []*gh.Commit{{SHA: gh.String(string(e.plan.Parent))}}, Author: who, Committer: who,
	}, nil)
	if err != nil {
		return publish.Receipt{}, sent("create commit", err)
	}
	return object("commit", commit.GetSHA(), e.plan.Commit, resp)
}

// object validates the answer to the creation of a Git object whose name is known.
func object(what, got string, want publish.SHA, resp *gh.Response) (publish.Receipt, error) {
	switch sha := publish.SHA(got); {
	case !sha.Valid():
		return publish.Receipt{}, &publish.Trouble{Kind: publish.Unknown, Condition: "empty_answer", Detail: "create " + what + ": the answer has no SHA", Status: resp.StatusCode}
	case sha != want:
		return publish.Receipt{}, &publish.Trouble{
			Kind: publish.Halted, Condition: publish.Condition(what + "_differs"), Status: resp.StatusCode,
			Detail: fmt.Sprintf("create %s: the server made %s where %s was computed", what, sha, want),
			Next:   "nothing is visible yet; the server does not store what it is sent, so look at what stands between",
		}
	}
	return publish.Receipt{SHA: want, Status: resp.StatusCode}, nil
}

func objectFinding(what string, sha publish.SHA, resp *gh.Response, err error) (publish.Finding, error) {
	look := "GET git " + what + " " + sha.Short()
	if missing(resp, err) {
		return absent(look, "there is none"), nil
	}
	if err != nil {
		return publish.Finding{}, read(what, err)
	}
	return present(look, "it is there", publish.Receipt{SHA: sha}), nil
}

// refEffect creates the intent's branch at the intent's commit.
type refEffect struct{ change }

func (e refEffect) Operation() publish.Operation { return e.operation("branch") }

func (refEffect) Traits() publish.Traits {
	return publish.Traits{Class: publish.Reconciled, LookFirst: true, LookAfter: true}
}

func (e refEffect) Find(ctx context.Context, _ publish.Prior) (publish.Finding, error) {
	look := "GET ref " + e.plan.Branch
	tip, ok, err := e.tip(ctx, e.plan.Branch)
	switch {
	case err != nil:
		return publish.Finding{}, err
	case !ok:
		return absent(look, "there is no such branch"), nil
	case tip != e.plan.Commit:
		return foreign("branch_at_other_commit", look, fmt.Sprintf("branch %s is at %s, not at this article's %s", e.plan.Branch, tip.Short(), e.plan.Commit.Short())), nil
	}
	return present(look, "at "+tip.Short(), e.receipt()), nil
}

func (e refEffect) Apply(ctx context.Context, _ publish.Prior) (publish.Receipt, error) {
	ref, resp, err := e.client.Git.CreateRef(ctx, e.owner, e.name, &gh.Reference{
		Ref: gh.String("refs/heads/" + e.plan.Branch), Object: &gh.GitObject{SHA: gh.String(string(e.plan.Commit))},
	})
	if err != nil {
		return publish.Receipt{}, sent("create branch", err)
	}
	if _, err := object("branch", ref.GetObject().GetSHA(), e.plan.Commit, resp); err != nil {
		return publish.Receipt{}, &publish.Trouble{Kind: publish.Unknown, Condition: "empty_answer", Detail: err.Error(), Status: resp.StatusCode}
	}
	r := e.receipt()
	r.Status = resp.StatusCode
	return r, nil
}

func (e refEffect) receipt() publish.Receipt {
	return publish.Receipt{ID: e.plan.Branch, SHA: e.plan.Commit}
}

func absent(look, saw string) publish.Finding {
	return publish.Finding{Presence: publish.Absent, Evidence: evidence(look, saw)}
}

func present(look, saw string, r publish.Receipt) publish.Finding {
	return publish.Finding{Presence: publish.Present, Receipt: r, Evidence: evidence(look, saw)}
}

func foreign(c publish.Condition, look, detail string) publish.Finding {
	return publish.Finding{Presence: publish.Foreign, Condition: c, Detail: detail, Evidence: evidence(look, detail)}
}

func notReady(c publish.Condition, wait time.Duration, look, detail string) publish.Finding {
	return publish.Finding{Presence: publish.NotReady, Condition: c, Detail: detail, Wait: wait, Evidence: evidence(look, detail)}
}

func evidence(look, saw string) []publish.Evidence {
	return []publish.Evidence{{At: time.Now().UTC(), Look: look, Saw: saw}}
}
