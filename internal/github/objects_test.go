package github

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"colophon/publish"
)

// TestPlannedNamesAreGits builds the same change with the git program and compares every name.
func TestPlannedNamesAreGits(t *testing.T) {
	git := gitIn(t)
	write(t, git.dir, "README.md", "# Blog\n")
	write(t, git.dir, "posts/old.md", "old\n")
	write(t, git.dir, "posts/a/deep.md", "deep\n")
	write(t, git.dir, "posts.txt", "sorts before posts/\n")
	git.run("add", ".")
	git.run("commit", "-qm", "seed")
	parentSHA := publish.SHA(git.run("rev-parse", "HEAD"))
	files := git.list("HEAD")

	in := publish.Intent{
		Key: "media-001:2026-10-04:idempotency", Topic: "Idempotency", Slug: "idempotency", Date: "2026-10-04",
		Repository: "acme/blog", BaseBranch: "main", Revision: 1, Path: "posts/idempotency.md", URL: "https://example.org/posts/idempotency/",
	}
	article := []byte("---\ntitle: Idempotency – é\n---\nText\n")
	p := publish.Plan{Title: "Idempotency – é", Author: publish.Author{Name: "Colophon", Email: "colophon@example.org", Date: in.Date.Midnight()}}
	plan, err := fix(in, p, parentSHA, files, article)
	if err != nil {
		t.Fatal(err)
	}

	write(t, git.dir, in.Path, string(article))
	git.run("add", ".")
	stamp := plan.Author.Date.Format(time.RFC3339)
	git.env = append(git.env, "GIT_AUTHOR_NAME=Colophon", "GIT_AUTHOR_EMAIL=colophon@example.org", "GIT_AUTHOR_DATE="+stamp,
		"GIT_COMMITTER_NAME=Colophon", "GIT_COMMITTER_EMAIL=colophon@example.org", "GIT_COMMITTER_DATE="+stamp)
	tree := git.run("write-tree")
	git.in = in.CommitMessage(plan)
	commit := git.run("commit-tree", tree, "-p", string(parentSHA))
	for what, pair := range map[string][2]string{
		"base tree": {string(plan.Base), git.run("rev-parse", "HEAD^{tree}")},
		"blob":      {string(plan.Blob), git.run("rev-parse", tree+":"+in.Path)},
		"tree":      {string(plan.Tree), tree},
		"commit":    {string(plan.Commit), commit},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: planned %s, git says %s", what, pair[0], pair[1])
		}
	}
}

func TestPathsThatStandInTheWayAreTaken(t *testing.T) {
	for _, c := range []struct {
		have  string
		dir   bool
		taken bool
	}{
		{"posts/idempotency.md", false, true},
		{"Posts", true, true},
		{"posts/Idempotency.md", false, true},
		{"posts", false, true},
		{"posts", true, false},
		{"posts/idempotency.md.bak", false, false},
		{"drafts/idempotency.md", false, false},
	} {
		if got := clashes(c.have, c.dir, "posts/idempotency.md") != ""; got != c.taken {
			t.Errorf("%s (folder %v): taken = %v", c.have, c.dir, got)
		}
	}
	if clashes("posts/caf\u00e9.md", false, "posts/cafe\u0301.md") == "" {
		t.Error("the same name in another Unicode form is not seen")
	}
}

type gitRepo struct {
	t   *testing.T
	dir string
	env []string
	in  string
}

func gitIn(t *testing.T) *gitRepo {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs the git program to compare with")
	}
	g := &gitRepo{t: t, dir: t.TempDir(), env: append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")}
	g.run("init", "-q", "-b", "main")
	return g
}

func (g *gitRepo) run(args ...string) string {
	g.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", g.dir}, args...)...)
	cmd.Env, cmd.Stdin = g.env, strings.NewReader(g.in)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		g.t.Fatalf("git %v: %v\n%s", args, err, &stderr)
	}
	return strings.TrimSpace(string(out))
}

// list reads a commit's whole tree, as the API lists it.
func (g *gitRepo) list(commit string) listing {
	l := listing{}
	for _, line := range strings.Split(g.run("ls-tree", "-r", "-t", commit), "\n") {
		meta, p, _ := strings.Cut(line, "\t")
		f := strings.Fields(meta)
		l[parent(p)] = append(l[parent(p)], entry{Mode: strings.TrimPrefix(f[0], "0"), Name: filepath.Base(p), SHA: publish.SHA(f[2])})
	}
	return l
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
