package github

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func gitSays(t *testing.T, dir string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs the git program")
	}
	out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestTheRepositoryIsGits(t *testing.T) {
	c := newChecked(t, 0)
	number := c.article("colophon/a", "posts/a.md", "hello\n")
	if status, got := c.call("PUT", "/pulls/"+number+"/merge", map[string]any{"commit_title": "Merge a", "commit_message": "Key: 1"}); status != http.StatusOK {
		t.Fatalf("%d %v", status, got)
	}
	dir := c.server.options.Dir
	if got := gitSays(t, dir, "show", "main:posts/a.md"); got != "hello" {
		t.Errorf("git shows %q", got)
	}
	if got := gitSays(t, dir, "log", "--format=%s|%an", "main"); got != "Merge a|colophon-bot\nPublish posts/a.md|Ada\nBegin the blog|Example" {
		t.Errorf("git log: %q", got)
	}
	gitSays(t, dir, "fsck", "--strict")
	if plain, merges := c.server.History(); len(plain) != 1 || len(merges) != 1 {
		t.Errorf("history: %v, %v", plain, merges)
	}
}

// plain sends one request whose answer GitHub does not describe, and answers status and body.
func (c *checked) plain(method, path, body string) (int, string) {
	c.t.Helper()
	req, err := http.NewRequest(method, c.url+"/repos/acme/blog"+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer secret")
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp.StatusCode, string(said)
}

// tree is a commit's tree.
func (c *checked) tree(commit string) string {
	c.t.Helper()
	_, got := c.call("GET", "/git/commits/"+commit, nil)
	return got["tree"].(map[string]any)["sha"].(string)
}

func TestACommitHasTheNameThatGitGivesIt(t *testing.T) {
	c := newChecked(t, 0)
	parent := c.tip("main")
	tree := c.tree(parent)
	for date, line := range map[string]string{
		"2026-10-04T06:30:00Z": "1791095400 +0000", "2026-10-04T06:30:00.9Z": "1791095400 +0000", "2026-10-04T06:30:00-03:30": "1791108000 -0330",
	} {
		who := map[string]any{"name": "Ada", "email": "ada@example.org", "date": date}
		_, got := c.call("POST", "/git/commits", map[string]any{"message": "Publish\n\nKey: 1", "tree": tree, "parents": []any{parent}, "author": who})
		plain := fmt.Sprintf("tree %s\nparent %s\nauthor Ada <ada@example.org> %s\ncommitter Ada <ada@example.org> %[3]s\n\nPublish\n\nKey: 1", tree, parent, line)
		file := filepath.Join(t.TempDir(), "commit")
		if err := os.WriteFile(file, []byte(plain), 0o600); err != nil {
			t.Fatal(err)
		}
		dir := c.server.options.Dir
		if want := gitSays(t, dir, "hash-object", "-t", "commit", file); got["sha"] != want {
			t.Errorf("%s: %v, git says %s", date, got["sha"], want)
		}
		if got := gitSays(t, dir, "cat-file", "commit", got["sha"].(string)); got != plain {
			t.Errorf("%s: git reads %q, want %q", date, got, plain)
		}
	}
	_, got := c.call("POST", "/git/commits", map[string]any{"message": "m", "tree": tree, "committer": map[string]any{"name": "Ada", "email": "ada@example.org"}})
	if date, _ := got["committer"].(map[string]any)["date"].(string); !strings.HasPrefix(date, "2") {
		t.Errorf("a commit without a date was made at %q", date)
	}
}

func TestARepositoryIsKeptWhenItIsOpenedAgain(t *testing.T) {
	c := newChecked(t, 0)
	number := c.article("colophon/a", "posts/a.md", "a\n")
	c.call("PUT", "/pulls/"+number+"/merge", nil)
	again, err := New(c.server.options)
	if err != nil {
		t.Fatal(err)
	}
	plain, merges := again.History()
	commit, files, err := again.Tree("main")
	if err != nil || commit != c.tip("main") || string(files["posts/a.md"]) != "a\n" || len(plain) != 1 || len(merges) != 1 {
		t.Errorf("%s %v; plain %v, merges %v; %v", commit, files, plain, merges, err)
	}
}

func TestASecondPullRequestForABranchIsRefused(t *testing.T) {
	c := newChecked(t, 0)
	number := c.article("colophon/a", "posts/a.md", "a\n")
	again := map[string]any{"title": "again", "head": "colophon/a", "base": "main"}
	status, got := c.call("POST", "/pulls", again)
	if status != 422 || !strings.Contains(errorMessage(got), "A pull request already exists for acme:colophon/a.") {
		t.Errorf("%d %v", status, got)
	}
	c.call("PUT", "/pulls/"+number+"/merge", map[string]any{"merge_method": "squash"})
	if status, got := c.call("POST", "/pulls", again); status != 201 {
		t.Errorf("after a squash merge GitHub opens a second one, here %d %v", status, got)
	}
	if c := c.server.Counts(); c.PullRequests != 2 || c.Merges != 1 {
		t.Errorf("%+v", c)
	}
}

func errorMessage(body map[string]any) string {
	errs, _ := body["errors"].([]any)
	if len(errs) == 0 {
		return ""
	}
	m, _ := errs[0].(map[string]any)["message"].(string)
	return m
}

func TestAMergeIsPinnedToItsHeadAndHappensOnce(t *testing.T) {
	c := newChecked(t, 0)
	number := c.article("colophon/a", "posts/a.md", "a\n")
	if status, _ := c.call("PUT", "/pulls/"+number+"/merge", map[string]any{"sha": strings.Repeat("1", 40)}); status != 409 {
		t.Errorf("another head: %d", status)
	}
	if status, _ := c.call("PUT", "/pulls/"+number+"/merge", nil); status != 200 {
		t.Errorf("merge: %d", status)
	}
	if status, _ := c.call("PUT", "/pulls/"+number+"/merge", nil); status != 405 {
		t.Errorf("merged again: %d", status)
	}
}

func TestConflictsAreComputed(t *testing.T) {
	c := newChecked(t, 0)
	one, two, other := c.article("one", "posts/x.md", "one\n"), c.article("two", "posts/x.md", "two\n"), c.article("three", "posts/y.md", "y\n")
	c.call("PUT", "/pulls/"+one+"/merge", nil)
	if _, p := c.call("GET", "/pulls/"+two, nil); p["mergeable"] != false || p["mergeable_state"] != "dirty" {
		t.Errorf("%v %v", p["mergeable"], p["mergeable_state"])
	}
	if status, _ := c.call("PUT", "/pulls/"+two+"/merge", nil); status != 405 {
		t.Errorf("a conflict was merged: %d", status)
	}
	if status, _ := c.call("PUT", "/pulls/"+other+"/merge", nil); status != 200 {
		t.Errorf("another file: %d", status)
	}
}

func TestMergeabilityIsNotKnownAtOnce(t *testing.T) {
	c := newChecked(t, 2)
	number := c.article("one", "posts/x.md", "one\n")
	var got []any
	for range 3 {
		_, p := c.call("GET", "/pulls/"+number, nil)
		got = append(got, p["mergeable"])
	}
	if got[0] != nil || got[1] != nil || got[2] != true {
		t.Errorf("%v", got)
	}
}

func TestStrangersAreTurnedAway(t *testing.T) {
	c := newChecked(t, 0)
	for path, token := range map[string]string{"/repos/acme/blog": "wrong", "/repos/acme/other": "secret", "/nowhere": "secret"} {
		req, _ := http.NewRequest("GET", c.url+path, nil)
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if want := map[string]int{"wrong": 401, "secret": 404}[token]; resp.StatusCode != want {
			t.Errorf("%s with %s: %d, want %d", path, token, resp.StatusCode, want)
		}
	}
}
