package bluesky_test

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"colophon/internal/channel"
	"colophon/internal/channel/channeltest"
	"colophon/publish"
)

const pdsVersion = "0.4.217"

// TestContractOnThePDS holds the channel against Bluesky's own server, with an account for each check.
func TestContractOnThePDS(t *testing.T) {
	pds := startPDS(t)
	bench := channeltest.Bench{
		Server: func(t *testing.T) *channeltest.Server { return pds.account(t) },
		Chosen: true, Named: true, Secret: password,
	}
	channeltest.Run(t, bench)
	t.Run("ASecondPostWithTheSameKeyIsTheFirst", func(t *testing.T) {
		s := pds.account(t)
		twice(t, s)
		if n := s.Count(); n != 1 {
			t.Errorf("%d posts", n)
		}
	})
	// What its owner deleted would come back with the same key: so nothing that is known to be done is ever sent again.
	t.Run("ADeletedPostWouldComeBack", func(t *testing.T) {
		s := pds.account(t)
		c := s.Open(t, channel.Options{}, false)
		e := effect(t, c, compose(t, c, channeltest.Announcement(s)))
		r, err := send(e)
		if err != nil {
			t.Fatal(err)
		}
		s.Delete(t, r.ID)
		if _, err := send(e); err != nil || s.Count() != 1 {
			t.Errorf("%v; %d posts", err, s.Count())
		}
	})
}

// pds is the server's program.
type pds struct{ url *url.URL }

// startPDS starts the server. It ends with the test, and by itself when the test dies.
func startPDS(t *testing.T) pds {
	t.Helper()
	if testing.Short() {
		t.Skip("starts Bluesky's server; left out with -short")
	}
	const folder = "testdata/pds"
	missing := "needs Node 20 and Bluesky's server: npm ci --prefix internal/channel/bluesky/" + folder
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip(missing)
	}
	text, err := os.ReadFile(filepath.Join(folder, "node_modules/@atproto/pds/package.json"))
	if err != nil {
		t.Skip(missing)
	}
	var is struct{ Version string }
	if err := json.Unmarshal(text, &is); err != nil || is.Version != pdsVersion {
		t.Fatalf("%s has version %q, want %s: %v", folder, is.Version, pdsVersion, err)
	}
	cmd := exec.Command(node, "start.mjs")
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "DATA="+t.TempDir(), "LOG_ENABLED=false")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var said bytes.Buffer
	cmd.Stderr = &said
	alive, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		_ = alive.Close()
	})
	ready := make(chan string, 1)
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if port, ok := strings.CutPrefix(lines.Text(), "ready "); ok {
				ready <- port
			}
		}
		close(ready)
	}()
	select {
	case port := <-ready:
		if port == "" {
			_ = cmd.Wait()
			t.Fatalf("the PDS did not start:\n%s", &said)
		}
		return pds{&url.URL{Scheme: "http", Host: "127.0.0.1:" + port}}
	case <-time.After(90 * time.Second):
		t.Fatal("the PDS did not start within 90 s")
	}
	return pds{}
}

// account makes an account, and a way to the server that counts reads.
func (p pds) account(t *testing.T) *channeltest.Server {
	t.Helper()
	handle := "press-" + strings.ToLower(rand.Text()[:8]) + ".test"
	var me struct {
		DID    string
		Access string `json:"accessJwt"`
	}
	p.call(t, "com.atproto.server.createAccount", "", map[string]any{"handle": handle, "email": handle + "@example.org", "password": password}, &me)
	var reads atomic.Int32
	proxy := httputil.NewSingleHostReverseProxy(p.url)
	s := channeltest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "Record") && r.Method == http.MethodGet || strings.HasSuffix(r.URL.Path, "listRecords") {
			reads.Add(1)
		}
		proxy.ServeHTTP(w, r)
	}))
	const posts = "app.bsky.feed.post"
	s.Path = "putRecord$"
	s.Reads = func() int { return int(reads.Load()) }
	s.Count = func() int {
		var got struct{ Records []any }
		p.call(t, "com.atproto.repo.listRecords?limit=100&repo="+me.DID+"&collection="+posts, "", nil, &got)
		return len(got.Records)
	}
	s.Post = func(t *testing.T, link string) publish.Receipt {
		var made struct{ URI string }
		p.call(t, "com.atproto.repo.createRecord", me.Access, map[string]any{"repo": me.DID, "collection": posts, "record": map[string]any{
			"$type": posts, "text": "By hand", "createdAt": time.Now().UTC().Format(time.RFC3339Nano),
			"facets": []any{map[string]any{
				"index":    map[string]int{"byteStart": 0, "byteEnd": 7},
				"features": []any{map[string]string{"$type": "app.bsky.richtext.facet#link", "uri": link}},
			}},
		}}, &made)
		return publish.Receipt{ID: made.URI[strings.LastIndex(made.URI, "/")+1:]}
	}
	s.Delete = func(t *testing.T, id string) {
		p.call(t, "com.atproto.repo.deleteRecord", me.Access, map[string]any{"repo": me.DID, "collection": posts, "rkey": id}, nil)
	}
	s.Open = opener(s, handle, password)
	return s
}

// call asks the server directly, as the account's owner does.
func (p pds) call(t *testing.T, method, token string, body, v any) {
	t.Helper()
	verb, raw := http.MethodGet, []byte(nil)
	if body != nil {
		verb = http.MethodPost
		raw, _ = json.Marshal(body)
	}
	req, err := http.NewRequest(verb, p.url.String()+"/xrpc/"+method, bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, text)
	}
	if err == nil && v != nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
}
