package github

import (
	"context"
	"net/url"
	"testing"
	"time"

	gh "github.com/google/go-github/v66/github"
)

// TestAnUnchangedClientPublishes drives the server with go-github, from the first read to the branch's removal.
func TestAnUnchangedClientPublishes(t *testing.T) {
	c := newChecked(t, 1)
	ctx := context.Background()
	client := gh.NewClient(nil).WithAuthToken("secret")
	client.BaseURL, _ = url.Parse(c.url + "/")
	need := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	const owner, repo, branch, path = "acme", "blog", "colophon/a", "posts/a.md"
	who := &gh.CommitAuthor{Name: gh.String("Ada"), Email: gh.String("ada@example.org"), Date: &gh.Timestamp{Time: time.Date(2026, 10, 4, 0, 0, 0, 0, time.UTC)}}

	base, _, err := client.Git.GetRef(ctx, owner, repo, "heads/main")
	need("base", err)
	blob, _, err := client.Git.CreateBlob(ctx, owner, repo, &gh.Blob{Content: gh.String("hello\n")})
	need("blob", err)
	tree, _, err := client.Git.CreateTree(ctx, owner, repo, base.GetObject().GetSHA(), []*gh.TreeEntry{
		{Path: gh.String(path), Mode: gh.String("100644"), Type: gh.String("blob"), SHA: blob.SHA},
		{Path: gh.String("posts/old.md"), Mode: gh.String("100644"), Type: gh.String("blob")}, // sent as sha null: removed
	})
	need("tree", err)
	commit, _, err := client.Git.CreateCommit(ctx, owner, repo, &gh.Commit{
		Message: gh.String("Publish"), Tree: tree, Parents: []*gh.Commit{{SHA: base.Object.SHA}}, Author: who, Committer: who,
	}, nil)
	need("commit", err)
	_, _, err = client.Git.CreateRef(ctx, owner, repo, &gh.Reference{Ref: gh.String("refs/heads/" + branch), Object: &gh.GitObject{SHA: commit.SHA}})
	need("branch", err)
	refs, _, err := client.Git.ListMatchingRefs(ctx, owner, repo, &gh.ReferenceListOptions{Ref: "heads/colophon/"})
	if need("refs", err); len(refs) != 1 || refs[0].GetRef() != "refs/heads/"+branch {
		t.Errorf("matching refs: %v", refs)
	}
	pull, _, err := client.PullRequests.Create(ctx, owner, repo, &gh.NewPullRequest{Title: gh.String("Publish"), Head: gh.String(branch), Base: gh.String("main")})
	need("pull request", err)
	for range 2 {
		pull, _, err = client.PullRequests.Get(ctx, owner, repo, pull.GetNumber())
		need("mergeability", err)
	}
	if !pull.GetMergeable() || pull.GetMergeableState() != "clean" {
		t.Errorf("mergeable %v, %s", pull.GetMergeable(), pull.GetMergeableState())
	}
	status, _, err := client.Repositories.GetCombinedStatus(ctx, owner, repo, commit.GetSHA(), nil)
	if need("status", err); status.GetState() != "pending" || status.GetTotalCount() != 0 {
		t.Errorf("status: %v", status)
	}
	merge, _, err := client.PullRequests.Merge(ctx, owner, repo, pull.GetNumber(), "Key: 1", &gh.PullRequestOptions{CommitTitle: "Merge a", SHA: commit.GetSHA(), MergeMethod: "merge"})
	if need("merge", err); !merge.GetMerged() {
		t.Errorf("%v", merge)
	}
	landed, _, err := client.Repositories.GetCommit(ctx, owner, repo, merge.GetSHA(), nil)
	if need("landed", err); len(landed.Parents) != 2 || landed.Commit.GetMessage() != "Merge a\n\nKey: 1" || landed.Commit.Committer.GetName() != "GitHub" {
		t.Errorf("landed: %v", landed.Commit)
	}
	file, _, _, err := client.Repositories.GetContents(ctx, owner, repo, path, nil)
	need("contents", err)
	if text, err := file.GetContent(); err != nil || text != "hello\n" {
		t.Errorf("contents: %q, %v", text, err)
	}
	_, posts, _, err := client.Repositories.GetContents(ctx, owner, repo, "posts", nil)
	if need("folder", err); len(posts) != 1 || posts[0].GetPath() != path {
		t.Errorf("folder: %v", posts)
	}
	_, err = client.Git.DeleteRef(ctx, owner, repo, "heads/"+branch)
	need("removal", err)
	want := map[string]int{"blob": 1, "tree": 1, "commit": 1, "ref_create": 1, "pull_create": 1, "merge": 1, "ref_delete": 1}
	got := c.server.Counts()
	for kind, n := range want {
		if got.Mutations[kind] != n {
			t.Errorf("%s: %d, want %d", kind, got.Mutations[kind], n)
		}
	}
	if got.Arrived != len(want) || len(got.Mutations) != len(want) {
		t.Errorf("%+v", got)
	}
}

// TestListsAreWalkedByTheirLinks follows the Link header as go-github does.
func TestListsAreWalkedByTheirLinks(t *testing.T) {
	c := newChecked(t, 0)
	for _, name := range []string{"one", "two", "three", "four", "five"} {
		c.article(name, "posts/"+name+".md", name)
	}
	client := gh.NewClient(nil).WithAuthToken("secret")
	client.BaseURL, _ = url.Parse(c.url + "/")
	opts := &gh.PullRequestListOptions{State: "all", ListOptions: gh.ListOptions{PerPage: 2}}
	var numbers []int
	for {
		page, resp, err := client.PullRequests.List(context.Background(), "acme", "blog", opts)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range page {
			numbers = append(numbers, p.GetNumber())
		}
		if opts.Page == 0 && resp.LastPage != 3 || opts.Page == 2 && (resp.PrevPage != 1 || resp.FirstPage != 1) {
			t.Errorf("page %d: %+v", opts.Page, resp)
		}
		if resp.NextPage == 0 {
			break
		}
		opts.Page = resp.NextPage
	}
	if len(numbers) != 5 || numbers[0] != 5 || numbers[4] != 1 {
		t.Errorf("%v", numbers)
	}
}
