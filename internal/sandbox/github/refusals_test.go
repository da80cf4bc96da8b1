package github

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// none is a SHA that names nothing.
var none = strings.Repeat("0", 40)

func (c *checked) tip(branch string) string {
	c.t.Helper()
	h, ok := c.server.tip(branch)
	if !ok {
		c.t.Fatalf("no branch %s", branch)
	}
	return h.String()
}

func TestWhatGitHubRefusesIsRefused(t *testing.T) {
	c := newChecked(t, 0)
	c.article("colophon/a", "posts/a.md", "a\n")
	main := c.tip("main")
	ref := func(name string) any { return map[string]any{"ref": name, "sha": main} }
	tree := func(path string, more map[string]any) any {
		entry := map[string]any{"path": path, "mode": "100644", "type": "blob"}
		for k, v := range more {
			entry[k] = v
		}
		return map[string]any{"base_tree": main, "tree": []any{entry}}
	}
	text := map[string]any{"content": "x"}
	for name, r := range map[string]struct {
		method, path string
		body         any
		status       int
		says         string
	}{
		"broken JSON":            {"POST", "/pulls", []byte(`{"title":`), 400, "Problems parsing JSON"},
		"no JSON":                {"POST", "/git/refs", []byte(``), 400, "Problems parsing JSON"},
		"wrong type":             {"POST", "/git/refs", map[string]any{"ref": 3}, 422, "Invalid request."},
		"branch taken":           {"POST", "/git/refs", ref("refs/heads/colophon/a"), 422, "Reference already exists"},
		"branch is a folder":     {"POST", "/git/refs", ref("refs/heads/colophon"), 422, "Reference update failed"},
		"branch of nothing":      {"POST", "/git/refs", map[string]any{"ref": "refs/heads/b", "sha": none}, 422, "Object does not exist"},
		"no branch":              {"POST", "/git/refs", ref("heads/b"), 422, "must start with 'refs'"},
		"branch climbs":          {"POST", "/git/refs", ref("refs/heads/../../config"), 422, "is not a valid ref name"},
		"branch with two dots":   {"POST", "/git/refs", ref("refs/heads/a..b"), 422, "is not a valid ref name"},
		"branch with a space":    {"POST", "/git/refs", ref("refs/heads/a b"), 422, "is not a valid ref name"},
		"no fast forward":        {"PATCH", "/git/refs/heads/colophon/a", map[string]any{"sha": main}, 422, "Update is not a fast forward"},
		"update of no branch":    {"PATCH", "/git/refs/heads/none", map[string]any{"sha": main}, 422, "Reference does not exist"},
		"update of a tag":        {"PATCH", "/git/refs/tags/main", map[string]any{"sha": main}, 422, "Reference does not exist"},
		"removal of no branch":   {"DELETE", "/git/refs/heads/none", nil, 422, "Reference does not exist"},
		"removal of a tag":       {"DELETE", "/git/refs/tags/main", nil, 422, "Reference does not exist"},
		"unknown base tree":      {"POST", "/git/trees", map[string]any{"base_tree": none, "tree": []any{text}}, 404, "Not Found"},
		"tree path climbs":       {"POST", "/git/trees", tree("..", text), 422, "malformed path component"},
		"tree path into .git":    {"POST", "/git/trees", tree("a/.git/config", text), 422, "malformed path component"},
		"tree path under a file": {"POST", "/git/trees", tree("README.md/x", text), 422, "BadObjectState"},
		"tree removes nothing":   {"POST", "/git/trees", tree("none.md", map[string]any{"sha": nil}), 422, "BadObjectState"},
		"tree of unknown blob":   {"POST", "/git/trees", tree("x", map[string]any{"sha": none}), 422, "is not a valid blob"},
		"tree entry of nothing":  {"POST", "/git/trees", tree("x", nil), 422, "either tree.sha or tree.content"},
		"commit of no tree":      {"POST", "/git/commits", map[string]any{"message": "m", "tree": none}, 422, "Tree SHA does not exist"},
		"pull of no branch":      {"POST", "/pulls", map[string]any{"title": "t", "head": "none", "base": "main"}, 422, `"field":"head"`},
		"pull without title":     {"POST", "/pulls", map[string]any{"head": "colophon/a", "base": "main"}, 422, `"field":"title"`},
		"pull of nothing new":    {"POST", "/pulls", map[string]any{"title": "t", "head": "main", "base": "main"}, 422, "No commits between main and main"},
		"second pull":            {"POST", "/pulls", map[string]any{"title": "t", "head": "colophon/a", "base": "main"}, 422, "A pull request already exists for acme:colophon/a."},
		"unknown state":          {"PATCH", "/pulls/1", map[string]any{"state": "bogus"}, 422, `"field":"state"`},
		"method switched off":    {"PUT", "/pulls/1/merge", map[string]any{"merge_method": "rebase"}, 405, "Rebase merges are not allowed"},
		"unknown method":         {"PUT", "/pulls/1/merge", map[string]any{"merge_method": "bogus"}, 422, "is not a member of"},
		"head moved":             {"PUT", "/pulls/1/merge", map[string]any{"sha": none}, 409, "Head branch was modified"},
	} {
		t.Run(name, func(t *testing.T) {
			c.t = t
			status, raw := c.raw(r.method, r.path, r.body)
			if status != r.status || !strings.Contains(string(raw), r.says) {
				t.Errorf("%d %s; want %d %s", status, raw, r.status, r.says)
			}
			var body struct{ Message, Status string }
			if err := json.Unmarshal(raw, &body); err != nil || body.Message == "" || body.Status != fmt.Sprint(status) {
				t.Errorf("not an error in GitHub's form: %s", raw)
			}
		})
	}
	c.t = t
	// GitHub's description of this answer contradicts itself: each body of it is of two kinds, and may be of one.
	if status, _ := c.plain("POST", "/git/blobs", `{"content":"x","encoding":"rot13"}`); status != 422 {
		t.Errorf("unknown encoding: %d", status)
	}
	if got := c.server.Branches(); !slices.Equal(got, []string{"colophon/a"}) || c.tip("main") != main {
		t.Errorf("a refusal left branches %v", got)
	}
	if n := c.server.Counts(); n.PullRequests != 1 || n.Merges != 0 {
		t.Errorf("a refusal left %+v", n)
	}
	gitSays(t, c.server.options.Dir, "fsck", "--strict")
}

func TestAMergeThatLandsUnrecordedIsCounted(t *testing.T) {
	c := newChecked(t, 0)
	number := c.article("colophon/a", "posts/a.md", "a\n")
	c.server.Set(func(s *Settings) { s.MergeUnrecorded = 1 })
	// GitHub describes no 502.
	if status, _ := c.plain("PUT", "/pulls/"+number+"/merge", "{}"); status != 502 {
		t.Errorf("first: %d", status)
	}
	if _, p := c.call("GET", "/pulls/"+number, nil); p["merged"] != false || p["state"] != "open" {
		t.Errorf("the record is not stale: %v %v", p["merged"], p["state"])
	}
	if status, _ := c.call("PUT", "/pulls/"+number+"/merge", nil); status != 200 {
		t.Errorf("second: %d", status)
	}
	if _, merges := c.server.History(); len(merges) != 2 || c.server.Counts().Merges != len(merges) {
		t.Errorf("%d merges in the repository, %d counted", len(merges), c.server.Counts().Merges)
	}
}

func TestTheTestMergeIsOnNoBranch(t *testing.T) {
	c := newChecked(t, 1)
	number := c.article("colophon/a", "posts/a.md", "a\n")
	if _, p := c.call("GET", "/pulls/"+number, nil); p["merge_commit_sha"] != nil {
		t.Errorf("right after creation: %v", p["merge_commit_sha"])
	}
	_, p := c.call("GET", "/pulls/"+number, nil)
	sha, _ := p["merge_commit_sha"].(string)
	if sha == "" || p["merged"] != false || sha == c.tip("main") {
		t.Errorf("no test merge: %q, merged %v", sha, p["merged"])
	}
	c.call("PUT", "/pulls/"+number+"/merge", nil)
	if _, p := c.call("GET", "/pulls/"+number, nil); p["merge_commit_sha"] != c.tip("main") {
		t.Errorf("after the merge: %v, base at %s", p["merge_commit_sha"], c.tip("main"))
	}
}

func TestAPullRequestFollowsItsBranch(t *testing.T) {
	c := newChecked(t, 1)
	number := c.article("colophon/a", "posts/a.md", "a\n")
	was := c.tip("colophon/a")
	_, commit := c.call("POST", "/git/commits", map[string]any{"message": "More", "tree": c.tree(was), "parents": []any{was}})
	c.call("PATCH", "/git/refs/heads/colophon/a", map[string]any{"sha": commit["sha"]})
	head := func() (any, any) {
		_, p := c.call("GET", "/pulls/"+number, nil)
		return p["head"].(map[string]any)["sha"], p["state"]
	}
	if sha, state := head(); sha != commit["sha"] || state != "open" {
		t.Errorf("after a push: %v %v", sha, state)
	}
	c.call("DELETE", "/git/refs/heads/colophon/a", nil)
	if sha, state := head(); sha != commit["sha"] || state != "closed" {
		t.Errorf("after the branch's removal: %v %v", sha, state)
	}
	if status, _ := c.call("PATCH", "/pulls/"+number, map[string]any{"state": "open"}); status != 422 {
		t.Errorf("opened again without a branch: %d", status)
	}
	c.call("POST", "/git/refs", map[string]any{"ref": "refs/heads/colophon/a", "sha": was})
	if status, _ := c.call("PATCH", "/pulls/"+number, map[string]any{"state": "open"}); status != 422 {
		t.Errorf("opened again on another history: %d", status)
	}
	c.call("PATCH", "/git/refs/heads/colophon/a", map[string]any{"sha": commit["sha"]})
	if status, p := c.call("PATCH", "/pulls/"+number, map[string]any{"state": "open"}); status != 200 || p["state"] != "open" || p["closed_at"] != nil {
		t.Errorf("not opened again: %d %v", status, p["state"])
	}
}

func TestListsAreFilteredAndPaged(t *testing.T) {
	c := newChecked(t, 0)
	for _, name := range []string{"one", "two", "three"} {
		c.article(name, "posts/"+name+".md", name)
	}
	for query, want := range map[string]int{
		"head=acme:one": 1, "head=ACME:one": 1, "head=stranger:one": 0, "head=one": 3, "state=closed": 0, "base=none": 0, "per_page=2": 2, "per_page=2&page=2": 1, "page=9": 0,
	} {
		_, raw := c.raw("GET", "/pulls?"+query, nil)
		var got []any
		if err := json.Unmarshal(raw, &got); err != nil || got == nil || len(got) != want {
			t.Errorf("%s: %d, want %d (%v)", query, len(got), want, err)
		}
	}
}
