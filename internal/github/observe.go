package github

import (
	"context"
	"fmt"
	"path"
	"strings"

	"colophon/publish"

	gh "github.com/google/go-github/v66/github"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Plan reads the base branch and fixes the change: parent, objects and the commit's SHA. It refuses, as
// a Halted trouble with a named condition, a path that is taken and a branch that someone else's pull
// request uses. It only reads.
func (r *Repository) Plan(ctx context.Context, in publish.Intent, p publish.Plan, article []byte) (publish.Plan, error) {
	tip, ok, err := r.tip(ctx, in.BaseBranch)
	if err != nil {
		return p, err
	}
	if !ok {
		return p, halt("base_branch_missing", fmt.Sprintf("branch %s of %s does not exist", in.BaseBranch, in.Repository), "name the branch that is published")
	}
	files, err := r.list(ctx, tip)
	if err != nil {
		return p, err
	}
	if err := files.free(in, BlobSHA(article)); err != nil {
		return p, err
	}
	pulls, err := r.pulls(ctx, in, in.Branch())
	if err != nil {
		return p, err
	}
	if len(pulls.foreign) > 0 {
		return p, halt("pull_request_of_someone_else", pulls.describe(), "close it or rename its branch, then decide retry")
	}
	return fix(in, p, tip, files, article)
}

// fix computes the names of everything that will be sent.
func fix(in publish.Intent, p publish.Plan, tip publish.SHA, files listing, article []byte) (publish.Plan, error) {
	var err error
	p.Branch, p.Parent, p.Blob = in.Branch(), tip, BlobSHA(article)
	if p.Base, err = files.root(); err != nil {
		return p, err
	}
	if p.Tree, err = files.with(in.Path, p.Blob); err != nil {
		return p, err
	}
	p.Commit = commitSHA(p.Tree, p.Parent, p.Author, in.CommitMessage(p))
	return p, nil
}

// list reads the whole tree of a commit. What was read is proven whole: the names of all entries give the name
// that the commit has for its tree.
func (r *Repository) list(ctx context.Context, commit publish.SHA) (listing, error) {
	if l, ok := r.listed(commit); ok {
		return l, nil
	}
	c, _, err := r.client.Git.GetCommit(ctx, r.owner, r.name, string(commit))
	if err != nil {
		return nil, read("commit "+commit.Short(), err)
	}
	want := publish.SHA(c.GetTree().GetSHA())
	if !want.Valid() {
		return nil, fmt.Errorf("read commit %s: the answer has no tree", commit.Short())
	}
	tree, _, err := r.client.Git.GetTree(ctx, r.owner, r.name, string(want), true)
	if err != nil {
		return nil, read("tree of "+commit.Short(), err)
	}
	if tree.GetTruncated() {
		return nil, halt("tree_truncated", "GitHub does not list this repository's tree in one answer", "publish from a smaller repository")
	}
	l := entries(tree)
	got, err := l.root()
	if err != nil {
		return nil, err
	}
	if got != want {
		return nil, fmt.Errorf("read tree of %s: the entries make %s, the commit says %s", commit.Short(), got.Short(), want.Short())
	}
	r.remember(commit, l)
	return l, nil
}

func entries(tree *gh.Tree) listing {
	l := listing{}
	for _, e := range tree.Entries {
		mode := strings.TrimPrefix(e.GetMode(), "0")
		dir := parent(e.GetPath())
		l[dir] = append(l[dir], entry{Mode: mode, Name: strings.TrimPrefix(e.GetPath()[len(dir):], "/"), SHA: publish.SHA(e.GetSHA())})
	}
	return l
}

// free refuses a path that exists already, also in another case or Unicode form, and one whose folder
// is a file or is spelt in another way. A correction, revision 2 and on, needs the file to exist.
func (l listing) free(in publish.Intent, article publish.SHA) error {
	if in.Revision > 1 {
		return l.corrects(in, article)
	}
	for dir, entries := range l {
		for _, e := range entries {
			have := strings.TrimPrefix(dir+"/"+e.Name, "/")
			if clash := clashes(have, e.Mode == dirMode, in.Path); clash != "" {
				return halt("path_taken", fmt.Sprintf("%s %s in %s on %s", have, clash, in.Repository, in.BaseBranch),
					"choose another slug under a new key, or publish a correction as the next revision")
			}
		}
	}
	return nil
}

// corrects refuses a correction of what is not there, or that changes nothing.
func (l listing) corrects(in publish.Intent, article publish.SHA) error {
	for _, e := range l[parent(in.Path)] {
		switch {
		case e.Name != path.Base(in.Path) || e.Mode == dirMode:
		case e.SHA == article:
			return halt("nothing_to_correct", fmt.Sprintf("%s on %s says what the draft says", in.Path, in.BaseBranch),
				"change the draft, and publish it as the next revision; abandon this one")
		default:
			return nil
		}
	}
	return halt("nothing_to_correct", fmt.Sprintf("%s is not on %s", in.Path, in.BaseBranch), "put the article back, then decide retry; or abandon")
}

// clashes says why a path that exists stands in the way of want; "" if it does not.
func clashes(have string, dir bool, want string) string {
	h, w := fold(have), fold(want)
	switch {
	case have == want:
		return "already exists"
	case h == w:
		return "differs only by case or Unicode form"
	case !strings.HasPrefix(w, h+"/"):
		return ""
	case !dir:
		return "is a file where a folder is needed"
	case !strings.HasPrefix(want, have+"/"):
		return "is the same folder in another spelling"
	}
	return ""
}

func fold(s string) string { return norm.NFC.String(cases.Fold().String(norm.NFC.String(s))) }

func halt(c publish.Condition, detail, next string) error {
	return &publish.Trouble{Kind: publish.Halted, Condition: c, Detail: detail, Next: next}
}
