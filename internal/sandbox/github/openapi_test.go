package github

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"colophon/internal/sandbox/github/openapitest"
)

// checked is the server with each of its answers held against GitHub's own description.
type checked struct {
	t         *testing.T
	server    *Server
	url       string
	described *openapitest.Description
}

func newChecked(t *testing.T, delay int) *checked {
	t.Helper()
	s, err := New(Options{Dir: t.TempDir(), Owner: "acme", Repo: "blog", Token: "secret", MergeabilityDelay: delay, Seed: map[string]string{"README.md": "# Blog\n", "posts/old.md": "old\n"}})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	return &checked{t: t, server: s, url: web.URL, described: openapitest.New(t, web.URL)}
}

// call sends one request and answers status and body; the answer must have the described shape.
func (c *checked) call(method, path string, body any) (int, map[string]any) {
	c.t.Helper()
	status, raw := c.raw(method, path, body)
	var v map[string]any
	_ = json.Unmarshal(raw, &v)
	return status, v
}

func (c *checked) raw(method, path string, body any) (int, []byte) {
	c.t.Helper()
	return c.send(method, "/repos/acme/blog"+path, body)
}

// send sends a body as JSON, or as it is when it is bytes; the path is the whole one.
func (c *checked) send(method, path string, body any) (int, []byte) {
	c.t.Helper()
	sent, plain := body.([]byte)
	if !plain {
		var err error
		if sent, err = json.Marshal(body); err != nil {
			c.t.Fatal(err)
		}
	}
	req, err := http.NewRequest(method, c.url+path, bytes.NewReader(sent))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer secret")
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	c.described.Answer(c.t, req, resp.StatusCode, resp.Header, got)
	return resp.StatusCode, got
}

func TestAnswersHaveTheShapeThatGitHubDescribes(t *testing.T) {
	c := newChecked(t, 1)
	number := c.article("colophon/a", "posts/a.md", "hello\n")
	c.call("GET", "", nil)
	c.call("GET", "/git/ref/heads/colophon/a", nil)
	c.call("GET", "/git/ref/heads/none", nil)
	c.raw("GET", "/pulls?state=all&head=acme:colophon/a", nil)
	c.call("GET", "/pulls/"+number, nil)
	c.call("GET", "/pulls/"+number, nil)
	c.call("GET", "/pulls/99", nil)
	c.call("PATCH", "/pulls/"+number, map[string]any{"title": "New title"})
	c.call("POST", "/pulls", map[string]any{"title": "again", "head": "colophon/a", "base": "main"})
	c.call("PUT", "/pulls/"+number+"/merge", map[string]any{"sha": strings.Repeat("0", 40)})
	c.call("PUT", "/pulls/"+number+"/merge", map[string]any{"merge_method": "merge"})
	c.call("PUT", "/pulls/"+number+"/merge", map[string]any{"merge_method": "merge"})
	c.call("GET", "/pulls/"+number, nil)
	_, ref := c.call("GET", "/git/ref/heads/main", nil)
	tip := ref["object"].(map[string]any)["sha"].(string)
	c.call("GET", "/git/trees/"+tip+"?recursive=1", nil)
	c.call("GET", "/git/commits/"+tip, nil)
	c.call("GET", "/contents/posts/a.md?ref="+tip, nil)
	c.call("GET", "/contents/posts/none.md?ref="+tip, nil)
	c.raw("GET", "/commits?sha=main&path=posts/a.md", nil)
	c.call("PATCH", "/git/refs/heads/colophon/a", map[string]any{"sha": tip})
	c.call("DELETE", "/git/refs/heads/colophon/a", nil)
	c.call("DELETE", "/git/refs/heads/colophon/a", nil)
	c.call("POST", "/git/refs", map[string]any{"ref": "refs/heads/x", "sha": strings.Repeat("0", 40)})
	_, blob := c.call("POST", "/git/blobs", map[string]any{"content": "aGVsbG8K", "encoding": "base64"})
	c.call("GET", "/git/blobs/"+blob["sha"].(string), nil)
	c.call("GET", "/git/blobs/"+strings.Repeat("0", 40), nil)
	c.raw("GET", "/git/matching-refs/heads/ma", nil)
	c.raw("GET", "/contents/posts?ref=main", nil)
	c.call("GET", "/commits/"+tip, nil)
	c.call("GET", "/commits/"+strings.Repeat("0", 40), nil)
	c.call("GET", "/commits/"+tip+"/status", nil)
	c.call("GET", "/commits/"+tip+"/check-runs", nil)
	c.raw("GET", "/rules/branches/colophon/a", nil)
	c.send("GET", "/user", nil)
	c.send("GET", "/rate_limit", nil)
	c.raw("GET", "/branches/main/protection", nil)
	c.raw("GET", "/pulls/"+number+"/reviews", nil)
	if seen, want := c.described.Seen(), 27; len(seen) != want {
		t.Errorf("%d of the %d operations were held against the description: %v", len(seen), want, seen)
	}
}

// article makes a branch with one file and a pull request, and answers its number.
func (c *checked) article(branch, path, content string) string {
	c.t.Helper()
	_, ref := c.call("GET", "/git/ref/heads/main", nil)
	tip := ref["object"].(map[string]any)["sha"]
	_, tree := c.call("POST", "/git/trees", map[string]any{"base_tree": tip, "tree": []any{map[string]any{"path": path, "mode": "100644", "type": "blob", "content": content}}})
	who := map[string]any{"name": "Ada", "email": "ada@example.org", "date": "2026-10-04T00:00:00Z"}
	_, commit := c.call("POST", "/git/commits", map[string]any{"message": "Publish " + path, "tree": tree["sha"], "parents": []any{tip}, "author": who, "committer": who})
	if status, got := c.call("POST", "/git/refs", map[string]any{"ref": "refs/heads/" + branch, "sha": commit["sha"]}); status != http.StatusCreated {
		c.t.Fatalf("create ref: %d %v", status, got)
	}
	status, pull := c.call("POST", "/pulls", map[string]any{"title": "Publish", "head": branch, "base": "main", "body": "b"})
	if status != http.StatusCreated {
		c.t.Fatalf("create pull: %d %v", status, pull)
	}
	return itoa(int(pull["number"].(float64)))
}
