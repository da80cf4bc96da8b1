package github

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"colophon/internal/permit"
	"colophon/internal/sandbox"
	"colophon/internal/strictyaml"
	"colophon/internal/wire"
	"colophon/publish"

	gh "github.com/google/go-github/v66/github"
)

// server is a GitHub that the adapter is held against.
type server struct {
	api, repository, token string

	patience time.Duration     // how long it may take to show what it has done
	pause    time.Duration     // between two looks at it
	instead  map[string]string // what it does instead, by case
}

var servers = []struct {
	name  string
	start func(*testing.T) server
}{{"sandbox", startSandbox}, {"emulate", startEmulate}, {"GitHub", realGitHub}}

func startSandbox(t *testing.T) server {
	w, err := sandbox.Start(sandbox.Options{Dir: filepath.Join(t.TempDir(), "blog.git"), MergeabilityDelay: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if left := w.GitHub.Branches(); len(left) != 0 {
			t.Errorf("the trial left %v behind", left)
		}
		w.Close()
	})
	return local(server{api: w.GitHubPort.URL(), repository: sandbox.Owner + "/" + sandbox.Repo, token: sandbox.GitHubToken})
}

// local is a server on this machine, which shows at once what it has done, unless it never does.
func local(s server) server {
	s.patience, s.pause = time.Second, 10*time.Millisecond
	return s
}

// realGitHub is GitHub itself, or a GitHub Enterprise Server whose API is named by COLOPHON_GITHUB_API.
func realGitHub(t *testing.T) server {
	s := server{
		api: "https://api.github.com", repository: os.Getenv("COLOPHON_GITHUB_REPOSITORY"), token: os.Getenv("COLOPHON_GITHUB_TOKEN"),
		patience: time.Minute, pause: time.Second,
	}
	if s.repository == "" || s.token == "" {
		t.Skip("needs a repository on GitHub to scratch in: set COLOPHON_GITHUB_REPOSITORY=owner/name, and COLOPHON_GITHUB_TOKEN " +
			"to a token that may write its contents and pull requests; there, merge commits and squashing must be allowed, and merged branches be left")
	}
	if testing.Short() {
		t.Skip("takes minutes at GitHub's pace, and leaves pull requests behind, merged or closed")
	}
	if api := os.Getenv("COLOPHON_GITHUB_API"); api != "" {
		s.api = api
	}
	return s
}

const (
	emulateFolder  = "testdata/emulate"
	emulateVersion = "0.11.2" // which the list of differences is about
)

// startEmulate starts emulate, a GitHub that nobody here wrote. It is ended with its process group, and
// ends by itself when the test dies (testdata/emulate/loopback.cjs).
func startEmulate(t *testing.T) server {
	node, folder := findEmulate(t)
	guard, err := filepath.Abs(filepath.Join(emulateFolder, "loopback.cjs"))
	if err != nil {
		t.Fatal(err)
	}
	s := local(server{repository: "example/blog", token: "emulate-" + random(t), instead: differences(t)})
	seed := filepath.Join(t.TempDir(), "seed.yaml")
	text := fmt.Sprintf("tokens:\n  %s: {login: example, scopes: [repo, user]}\n"+
		"github:\n  users:\n    - {login: example, name: Example, email: example@example.org}\n"+
		"  repos:\n    - {owner: example, name: blog, auto_init: true}\n", s.token)
	if err := os.WriteFile(seed, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 3 { // someone else can take a free port before it is used
		port := strconv.Itoa(freePort(t))
		s.api = "http://127.0.0.1:" + port
		cmd := exec.Command(node, "--require", guard, filepath.Join(folder, "node_modules/emulate/dist/index.js"),
			"start", "--service", "github", "--port", port, "--seed", seed, "--base-url", s.api)
		if launch(t, cmd, s) {
			return s
		}
	}
	t.Fatal("emulate did not start; what it said is above")
	return server{}
}

// findEmulate answers the node program and the folder whose node_modules has emulate.
func findEmulate(t *testing.T) (node, folder string) {
	const missing = "needs Node 20 or later and emulate: npm ci --prefix internal/github/testdata/emulate (or COLOPHON_EMULATE=a folder with its node_modules)"
	if folder = os.Getenv("COLOPHON_EMULATE"); folder == "" {
		folder = emulateFolder
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip(missing)
	}
	text, err := os.ReadFile(filepath.Join(folder, "node_modules/emulate/package.json"))
	if err != nil {
		t.Skip(missing)
	}
	var is struct{ Version string }
	if err := json.Unmarshal(text, &is); err != nil || is.Version != emulateVersion {
		t.Fatalf("%s has emulate %q, and the differences are listed for %s: %v", folder, is.Version, emulateVersion, err)
	}
	return node, folder
}

func freePort(t *testing.T) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

// launch starts cmd and waits until it serves the repository; false if it ends before.
func launch(t *testing.T, cmd *exec.Cmd, s server) bool {
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	alive, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-ended
		_ = alive.Close()
		if t.Failed() {
			t.Logf("emulate said:\n%s", &said)
		}
	})
	client := wire.New(wire.Options{Authorize: s.authorize(s.token)})
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		if resp, err := client.Get(s.api + "/repos/" + s.repository); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return true
			}
		}
		select {
		case <-ended:
			return false
		case <-time.After(20 * time.Millisecond):
		}
	}
	t.Fatal("emulate does not serve its repository after 30 s")
	return false
}

// differences reads what emulate is known to do instead of what GitHub does.
func differences(t *testing.T) map[string]string {
	const file = "testdata/emulate-differences.yaml"
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Differences []struct{ Case, Instead, Why string }
	}
	if _, err := strictyaml.Decode(file, source, &list); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, d := range list.Differences {
		if d.Case == "" || d.Instead == "" || d.Why == "" || out[d.Case] != "" {
			t.Errorf("%s: %q: want each case once, with what happens instead and why that is accepted", file, d.Case)
		}
		out[d.Case] = d.Instead
	}
	return out
}

// trial is one run of the cases on one server. Everything it does is on branches of its own: it publishes
// into a base branch that it makes, and takes every branch away again.
type trial struct {
	server
	ctx  context.Context
	run  string // in the name of every branch
	repo *Repository

	main  string // the repository's default branch
	start publish.SHA
	base  string
	own   map[string]bool // branches that may exist because of it

	first, second, moved, taken, twice *publication
	merge                              publish.SHA
}

func newTrial(t *testing.T, s server) *trial {
	c := &trial{server: s, run: random(t), own: map[string]bool{}}
	var stop context.CancelFunc
	c.ctx, stop = context.WithTimeout(context.Background(), 10*time.Minute)
	t.Cleanup(stop)
	c.repo = c.connect(s.token, "merge")
	repository, _, err := c.repo.client.Repositories.Get(c.ctx, c.repo.owner, c.repo.name)
	if err != nil {
		t.Fatal(err)
	}
	c.main = repository.GetDefaultBranch()
	start, ok, err := c.repo.tip(c.ctx, c.main)
	if err != nil || !ok {
		t.Fatalf("the default branch %q needs a first commit: %v", c.main, err)
	}
	c.start = start
	t.Cleanup(func() { c.leave(t) })
	c.base = c.mine("colophon-conformance/" + c.run)
	ref := &gh.Reference{Ref: gh.String("refs/heads/" + c.base), Object: &gh.GitObject{SHA: gh.String(string(start))}}
	if _, _, err := c.repo.client.Git.CreateRef(permit.Grant(c.ctx), c.repo.owner, c.repo.name, ref); err != nil {
		t.Fatalf("a base branch to publish into: %v", err)
	}
	if err := c.until("the base branch", string(start), func() (string, error) {
		tip, _, err := c.repo.tip(c.ctx, c.base)
		return string(tip), err
	}); err != nil {
		t.Fatal(err)
	}
	return c
}

// mine notes a branch as one to take away again.
func (c *trial) mine(branch string) string {
	if !strings.Contains(branch, c.run) {
		panic("not a branch of this run: " + branch)
	}
	c.own[branch] = true
	return branch
}

// leave takes the trial's branches away, which closes what pull requests are open between them.
func (c *trial) leave(t *testing.T) {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	for branch := range c.own {
		if _, ok, err := c.repo.tip(ctx, branch); err == nil && !ok {
			continue
		}
		_, err := c.repo.client.Git.DeleteRef(permit.Grant(ctx), c.repo.owner, c.repo.name, "heads/"+branch)
		if err == nil {
			continue
		}
		if _, ok, again := c.repo.tip(ctx, branch); ok || again != nil {
			t.Errorf("branch %s of %s is left behind, remove it: %v", branch, c.repository, err)
		}
	}
}

func (s server) authorize(token string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
}

func (s server) connect(token, method string) *Repository {
	r, err := New(wire.New(wire.Options{Authorize: s.authorize(token)}), Options{API: s.api, Repository: s.repository, MergeMethod: method})
	if err != nil {
		panic(err)
	}
	return r
}

// intent is one article of this run.
func (c *trial) intent(entry string) publish.Intent {
	return publish.Intent{
		Key: publish.Key("conformance:2026-10-04:" + c.run + "-" + entry), Topic: "The " + entry + " article", Slug: c.run + "-" + entry,
		Date: "2026-10-04", Repository: c.repository, BaseBranch: c.base, Revision: 1,
		Path: "posts/" + c.run + "/" + entry + ".md", URL: publish.CanonicalURL("https://example.org/posts/" + c.run + "-" + entry + "/"),
	}
}

// plan pins what will be sent for an article.
func (c *trial) plan(entry, method string) (*publication, error) {
	p := &publication{repo: c.connect(c.token, method), in: c.intent(entry), text: article(entry)}
	if err := p.in.Check(); err != nil {
		return p, err
	}
	c.mine(p.in.Branch())
	var err error
	p.pinned, err = p.repo.Plan(c.ctx, p.in, publish.Plan{Draft: "d", Title: "The " + entry + " – é", Author: author()}, p.text)
	return p, err
}

func random(t *testing.T) string {
	var b [6]byte
	if _, err := rand.Read(b[:]); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(b[:])
}
