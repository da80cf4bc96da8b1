// Package github is a strict GitHub for one repository: the REST API, version 2022-11-28, as far as
// publishing needs it, over a real bare Git repository that the git program can read.
//
// It refuses what GitHub refuses, with GitHub's statuses and bodies: a second open pull request for a
// branch, a merge whose head has moved, a conflict. It merges whole files, not lines. Pull requests and
// counts are kept in memory only; the repository outlives them.
package github

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/memory"
)

// Options describe the repository.
type Options struct {
	Dir         string // of the bare repository; what is there already is kept. In memory if empty
	Owner, Repo string
	Base        string            // "main" unless set
	Login       string            // whose token it is; "colophon-bot" unless set
	Token       string            // the only one that is let in
	Seed        map[string]string // files of the first commit
	// MergeabilityDelay is what Settings.Nulls begins with.
	MergeabilityDelay int
	// OnBaseMoved is called, without locks, after the base branch has moved.
	OnBaseMoved func(commit string)
}

// Counts is what reached the server and what came of it.
type Counts struct {
	Mutations    map[string]int `json:"mutations"`        // that took effect, by kind
	Arrived      int            `json:"github_mutations"` // whatever came of them
	Reads        int            `json:"github_reads"`
	PullRequests int            `json:"pull_requests"`
	Merges       int            `json:"merges"`
}

// Server is the API. It is safe for concurrent use.
type Server struct {
	options Options
	mux     *http.ServeMux

	mu     sync.Mutex
	repo   *git.Repository
	pulls  []*pull
	counts Counts
	// settings are the team's.
	settings Settings
	stale    int // pull requests whose merge landed unrecorded
}

// New opens the repository, or makes it with its first commit.
func New(o Options) (*Server, error) {
	if o.Base == "" {
		o.Base = "main"
	}
	if o.Login == "" {
		o.Login = "colophon-bot"
	}
	var store storage.Storer = memory.NewStorage()
	if o.Dir != "" {
		store = filesystem.NewStorage(osfs.New(o.Dir), cache.NewObjectLRUDefault())
	}
	repo, err := git.Open(store, nil)
	if err != nil {
		if repo, err = git.InitWithOptions(store, nil, git.InitOptions{DefaultBranch: plumbing.NewBranchReferenceName(o.Base)}); err != nil {
			return nil, fmt.Errorf("sandbox repository %s: %w", o.Dir, err)
		}
	}
	s := &Server{options: o, repo: repo, mux: http.NewServeMux(), counts: Counts{Mutations: map[string]int{}}, settings: Settings{Nulls: o.MergeabilityDelay}}
	if _, ok := s.tip(o.Base); !ok {
		if err := s.begin(); err != nil {
			return nil, err
		}
	}
	s.routes()
	return s, nil
}

// begin makes the first commit.
func (s *Server) begin() error {
	files := map[string]file{}
	for path, content := range s.options.Seed {
		files[path] = file{mode: "100644", hash: s.put(plumbing.BlobObject, []byte(content))}
	}
	who := stamp{Name: "Example", Email: "example@example.org", Date: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	return s.move(s.options.Base, s.putCommit(s.putTree(files), nil, who, who, "Begin the blog"))
}

func (s *Server) routes() {
	r := "/repos/{owner}/{repo}"
	s.handle("GET "+r, "", s.getRepo)
	s.handle("GET /user", "", s.getUser)
	s.handle("GET /rate_limit", "", s.getRateLimit)
	s.handle("GET "+r+"/git/ref/{ref...}", "", s.getRef)
	s.handle("GET "+r+"/git/matching-refs/{ref...}", "", s.matchingRefs)
	s.handle("POST "+r+"/git/refs", "ref_create", s.createRef)
	s.handle("PATCH "+r+"/git/refs/{ref...}", "ref_update", s.updateRef)
	s.handle("DELETE "+r+"/git/refs/{ref...}", "ref_delete", s.deleteRef)
	s.handle("GET "+r+"/git/blobs/{sha}", "", s.getBlob)
	s.handle("POST "+r+"/git/blobs", "blob", s.createBlob)
	s.handle("GET "+r+"/git/trees/{sha}", "", s.getTree)
	s.handle("POST "+r+"/git/trees", "tree", s.createTree)
	s.handle("GET "+r+"/git/commits/{sha}", "", s.getGitCommit)
	s.handle("POST "+r+"/git/commits", "commit", s.createCommit)
	s.handle("GET "+r+"/contents/{path...}", "", s.getContents)
	s.handle("GET "+r+"/commits", "", s.listCommits)
	s.handle("GET "+r+"/commits/{ref}", "", s.getCommit)
	s.handle("GET "+r+"/commits/{ref}/status", "", s.getStatus)
	s.handle("GET "+r+"/commits/{ref}/check-runs", "", s.listCheckRuns)
	s.handle("GET "+r+"/rules/branches/{branch...}", "", s.listRules)
	s.handle("GET "+r+"/branches/{branch}/protection", "", s.getProtection)
	s.handle("GET "+r+"/pulls", "", s.listPulls)
	s.handle("POST "+r+"/pulls", "pull_create", s.createPull)
	s.handle("GET "+r+"/pulls/{number}", "", s.getPull)
	s.handle("GET "+r+"/pulls/{number}/reviews", "", s.listReviews)
	s.handle("PATCH "+r+"/pulls/{number}", "pull_update", s.updatePull)
	s.handle("PUT "+r+"/pulls/{number}/merge", "merge", s.mergePull)
	// A person's view of a pull request, where its html_url leads.
	s.mux.HandleFunc("GET /"+s.options.Owner+"/"+s.options.Repo+"/pull/{number}", s.showPull)
}

// failure is an error answer, in GitHub's form.
type failure struct {
	status  int
	message string
	errors  []map[string]string
	landed  bool // the effect has happened all the same

	location string // of a redirect
}

func fail(status int, format string, args ...any) *failure {
	return &failure{status: status, message: fmt.Sprintf(format, args...)}
}

// reply is a good answer.
type reply struct {
	status int
	body   any
	header http.Header
}

func ok(body any) *reply { return &reply{status: http.StatusOK, body: body} }

func (s *Server) handle(pattern, kind string, f func(*http.Request) (*reply, *failure)) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, req *http.Request) {
		before, after, answer, bad := s.counted(kind, req, f)
		if after != before && s.options.OnBaseMoved != nil {
			s.options.OnBaseMoved(after.String())
		}
		write(w, answer, bad)
	})
}

// counted answers a request, alone, with the base's tip before and after it.
func (s *Server) counted(kind string, req *http.Request, f func(*http.Request) (*reply, *failure)) (before, after plumbing.Hash, answer *reply, bad *failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if kind == "" {
		s.counts.Reads++
	} else {
		s.counts.Arrived++
	}
	before, _ = s.tip(s.options.Base)
	if answer, bad = nil, s.barred(req, kind); bad == nil {
		answer, bad = s.guarded(req, f)
	}
	after, _ = s.tip(s.options.Base)
	if kind != "" && (bad == nil || bad.landed) {
		s.counts.Mutations[kind]++
	}
	return before, after, answer, bad
}

// guarded lets a request in that has the token and means this repository.
func (s *Server) guarded(req *http.Request, f func(*http.Request) (*reply, *failure)) (*reply, *failure) {
	scheme, token, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	if token != s.options.Token || !strings.EqualFold(scheme, "bearer") && !strings.EqualFold(scheme, "token") {
		return nil, fail(http.StatusUnauthorized, "Bad credentials")
	}
	owner, repo := req.PathValue("owner"), req.PathValue("repo")
	if strings.HasPrefix(req.URL.Path, "/repos/") && !(strings.EqualFold(owner, s.options.Owner) && strings.EqualFold(repo, s.options.Repo)) {
		return nil, fail(http.StatusNotFound, "Not Found")
	}
	return f(req)
}

// barred refuses whatever a repository that has moved, or cannot be changed, is asked.
func (s *Server) barred(req *http.Request, kind string) *failure {
	if !strings.HasPrefix(req.URL.Path, "/repos/") {
		return nil
	}
	if s.settings.Moved {
		to := "http://" + req.Host + "/repositories/1/" + strings.Join(strings.Split(req.URL.Path, "/")[4:], "/")
		status := http.StatusMovedPermanently
		if kind != "" {
			status = http.StatusTemporaryRedirect
		}
		return &failure{status: status, message: http.StatusText(status), location: to}
	}
	if kind != "" {
		return s.writable()
	}
	return nil
}

func write(w http.ResponseWriter, r *reply, bad *failure) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("X-GitHub-Api-Version-Selected", "2022-11-28")
	if bad != nil {
		body := map[string]any{"message": bad.message, "documentation_url": "https://docs.github.com/rest", "status": fmt.Sprint(bad.status)}
		if bad.errors != nil {
			body["errors"] = bad.errors
		}
		if bad.location != "" {
			w.Header().Set("Location", bad.location)
		}
		w.WriteHeader(bad.status)
		_ = json.NewEncoder(w).Encode(body)
		return
	}
	for name, values := range r.header {
		w.Header()[name] = values
	}
	w.WriteHeader(r.status)
	if r.body != nil {
		_ = json.NewEncoder(w).Encode(r.body)
	}
}

// read decodes a request's body, as strictly as GitHub does: unknown names pass, wrong types do not.
func read(req *http.Request, v any) *failure {
	err := json.NewDecoder(req.Body).Decode(v)
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &syntax) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return fail(http.StatusBadRequest, "Problems parsing JSON")
	}
	return fail(http.StatusUnprocessableEntity, "Invalid request.\n\n%v", err)
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if _, pattern := s.mux.Handler(req); pattern == "" {
		write(w, nil, fail(http.StatusNotFound, "Not Found"))
		return
	}
	s.mux.ServeHTTP(w, req)
}

// Counts answers what has reached the server so far.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counts
	c.Mutations = map[string]int{}
	for k, n := range s.counts.Mutations {
		c.Mutations[k] = n
	}
	c.PullRequests, c.Merges = c.Mutations["pull_create"], c.Mutations["merge"]
	return c
}
