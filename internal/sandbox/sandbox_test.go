package sandbox

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"colophon/internal/sandbox/fault"
)

func call(t *testing.T, method, url, token string, body any, header ...string) (int, map[string]any) {
	t.Helper()
	raw, _ := json.Marshal(body)
	req, err := http.NewRequest(method, url, bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	for n := 0; n+1 < len(header); n += 2 {
		req.Header.Set(header[n], header[n+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, _ := io.ReadAll(resp.Body)
	var v map[string]any
	_ = json.Unmarshal(got, &v)
	return resp.StatusCode, v
}

func TestTheWorldCountsWhatHappens(t *testing.T) {
	w, err := Start(Options{Dir: filepath.Join(t.TempDir(), "blog.git")})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	api := w.GitHubPort.URL() + "/repos/" + Owner + "/" + Repo
	_, ref := call(t, "GET", api+"/git/ref/heads/main", GitHubToken, nil)
	tip := ref["object"].(map[string]any)["sha"]
	post := "---\ntitle: 'Look: <then> act'\ndate: 2026-10-04\nslug: look\n---\nHello *world*.\n"
	_, tree := call(t, "POST", api+"/git/trees", GitHubToken, map[string]any{"base_tree": tip, "tree": []any{map[string]any{"path": "posts/look.md", "mode": "100644", "type": "blob", "content": post}}})
	_, commit := call(t, "POST", api+"/git/commits", GitHubToken, map[string]any{"message": "m", "tree": tree["sha"], "parents": []any{tip}})
	call(t, "POST", api+"/git/refs", GitHubToken, map[string]any{"ref": "refs/heads/a", "sha": commit["sha"]})
	call(t, "POST", api+"/pulls", GitHubToken, map[string]any{"title": "t", "head": "a", "base": "main"})
	if status, got := call(t, "PUT", api+"/pulls/1/merge", GitHubToken, nil); status != 200 {
		t.Fatalf("merge: %d %v", status, got)
	}
	url := w.SitePort.URL() + "/posts/look/"
	page := get(url)
	for _, want := range []string{"<h1>Look: &lt;then&gt; act</h1>", `<link rel="canonical" href="` + url + `">`, `datetime="2026-10-04"`, "<em>world</em>"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in the page", want)
		}
	}
	a := w.Audit()
	if a.Articles != 1 || a.Published != 1 || a.Merges != 1 || a.PullRequests != 1 || a.Commits != 1 || a.Duplicates != 0 || a.Branches != 1 {
		t.Errorf("%+v", a)
	}
	status := map[string]any{"status": "Look " + url}
	mastodon := w.MastodonPort.URL() + "/api/v1/statuses"
	_, one := call(t, "POST", mastodon, MastodonToken, status, "Idempotency-Key", "k")
	_, same := call(t, "POST", mastodon, MastodonToken, status, "Idempotency-Key", "k")
	if one["id"] != same["id"] || one["id"] == nil || w.Audit().Duplicates != 0 {
		t.Errorf("the same key: %v, %v", one["id"], same["id"])
	}
	call(t, "POST", mastodon, MastodonToken, status)
	ping := map[string]any{"host": strings.TrimPrefix(w.SitePort.URL(), "http://"), "key": IndexNowKey, "keyLocation": w.SitePort.URL() + "/" + IndexNowKey + ".txt", "urlList": []string{url}}
	for range 2 {
		if status, _ := call(t, "POST", w.IndexNowPort.URL()+"/indexnow", "", ping); status != 200 {
			t.Errorf("ping: %d", status)
		}
	}
	if a := w.Audit(); a.Duplicates != 2 || a.Posts != 2 || a.Pings != 2 {
		t.Errorf("a second post and a second ping are not counted: %+v", a)
	}
}

func TestChannelsRefuseWhatTheyShould(t *testing.T) {
	w, err := Start(Options{Dir: filepath.Join(t.TempDir(), "blog.git")})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	statuses := w.MastodonPort.URL() + "/api/v1/statuses"
	for name, c := range map[string]struct {
		token, text string
		want        int
	}{
		"bad token": {"x", "hi", 401}, "empty": {MastodonToken, " ", 422}, "long": {MastodonToken, strings.Repeat("é", 501), 422},
		"long link": {MastodonToken, strings.Repeat("é", 470) + " https://example.org/" + strings.Repeat("x", 300), 200},
	} {
		if got, _ := call(t, "POST", statuses, c.token, map[string]any{"status": c.text}); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	host := strings.TrimPrefix(w.SitePort.URL(), "http://")
	key := w.SitePort.URL() + "/" + IndexNowKey + ".txt"
	for name, c := range map[string]struct {
		body map[string]any
		want int
	}{
		"no URL":     {map[string]any{"host": host, "key": IndexNowKey, "keyLocation": key}, 400},
		"other key":  {map[string]any{"host": host, "key": "00000000", "keyLocation": key, "urlList": []string{w.SitePort.URL() + "/"}}, 403},
		"other host": {map[string]any{"host": host, "key": IndexNowKey, "keyLocation": key, "urlList": []string{"https://example.org/"}}, 422},
	} {
		if got, _ := call(t, "POST", w.IndexNowPort.URL()+"/indexnow", "", c.body); got != c.want {
			t.Errorf("indexnow, %s: %d, want %d", name, got, c.want)
		}
	}
}

func TestFaultsCanBeOrderedFromOutside(t *testing.T) {
	w, err := Start(Options{Dir: filepath.Join(t.TempDir(), "blog.git")})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if status, _ := call(t, "POST", w.AuditPort.URL()+"/faults/site", "", fault.Rule{Path: "^/feed.xml$", Kind: fault.StatusBefore, Status: 503}); status != 204 {
		t.Fatalf("order: %d", status)
	}
	if get(w.SitePort.URL()+"/feed.xml") != "" || get(w.SitePort.URL()+"/feed.xml") == "" {
		t.Error("the fault did not happen once")
	}
	if !strings.Contains(get(w.AuditPort.URL()+"/"), "What really happened") {
		t.Error("no page for people")
	}
}
