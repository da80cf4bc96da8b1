package github

import (
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// pull is a pull request.
type pull struct {
	Number            int
	Title, Body       string
	Head, Base, State string
	HeadSHA, BaseSHA  plumbing.Hash
	Draft, Merged     bool
	MergeCommit       plumbing.Hash
	Created, Updated  time.Time
	ClosedAt          *time.Time

	nulls int // reads until mergeability is known
}

func (s *Server) page(format string, args ...any) string {
	return fmt.Sprintf("https://github.com/%s/%s/", s.options.Owner, s.options.Repo) + fmt.Sprintf(format, args...)
}

// listPulls filters as GitHub does; a head without an owner is silently ignored.
func (s *Server) listPulls(req *http.Request) (*reply, *failure) {
	q := req.URL.Query()
	state := q.Get("state")
	if state == "" {
		state = "open"
	}
	_, head, filtered := strings.Cut(q.Get("head"), ":")
	all := []any{}
	for _, p := range slices.Backward(s.pulls) {
		if state != "all" && p.State != state || filtered && p.Head != head || q.Get("base") != "" && p.Base != q.Get("base") {
			continue
		}
		all = append(all, s.pullBody(p, req, false))
	}
	return paged(req, all), nil
}

// paged answers one page, with the Link header.
func paged(req *http.Request, all []any) *reply {
	q := req.URL.Query()
	size, err := strconv.Atoi(q.Get("per_page"))
	if err != nil || size < 1 || size > 100 {
		size = 30
	}
	number := max(1, atoi(q.Get("page")))
	from := min((number-1)*size, len(all))
	to := min(from+size, len(all))
	r := ok(all[from:to])
	if to < len(all) {
		next := url.URL{Scheme: "http", Host: req.Host, Path: req.URL.Path}
		q.Set("page", strconv.Itoa(number+1))
		next.RawQuery = q.Encode()
		r.header = http.Header{"Link": {fmt.Sprintf(`<%s>; rel="next"`, &next)}}
	}
	return r
}

func itoa(n int) string { return strconv.Itoa(n) }

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

func invalid(message string) *failure {
	return &failure{status: http.StatusUnprocessableEntity, message: "Validation Failed", errors: []map[string]string{
		{"resource": "PullRequest", "code": "custom", "message": message},
	}}
}

func (s *Server) createPull(req *http.Request) (*reply, *failure) {
	var in struct {
		Title, Head, Base, Body string
		Draft                   bool
	}
	if bad := read(req, &in); bad != nil {
		return nil, bad
	}
	branch := in.Head
	if owner, rest, ok := strings.Cut(in.Head, ":"); ok && strings.EqualFold(owner, s.options.Owner) {
		branch = rest
	}
	head, okHead := s.tip(branch)
	base, okBase := s.tip(in.Base)
	if !okHead || !okBase || in.Title == "" {
		field := map[bool]string{true: "base", false: "head"}[okHead]
		return nil, &failure{status: http.StatusUnprocessableEntity, message: "Validation Failed", errors: []map[string]string{
			{"resource": "PullRequest", "field": field, "code": "invalid"},
		}}
	}
	for _, p := range s.pulls {
		if p.State == "open" && p.Head == branch && p.Base == in.Base {
			return nil, invalid(fmt.Sprintf("A pull request already exists for %s:%s.", s.options.Owner, branch))
		}
	}
	if s.ancestors(base)[head] {
		return nil, invalid(fmt.Sprintf("No commits between %s and %s", in.Base, branch))
	}
	p := &pull{
		Number: len(s.pulls) + 1, Title: in.Title, Body: in.Body, Head: branch, Base: in.Base, State: "open", HeadSHA: head, BaseSHA: base,
		Draft: in.Draft, Created: *now(), Updated: *now(), nulls: s.options.MergeabilityDelay,
	}
	s.pulls = append(s.pulls, p)
	return &reply{status: http.StatusCreated, body: s.pullBody(p, req, true)}, nil
}

func (s *Server) find(req *http.Request) (*pull, *failure) {
	n := atoi(req.PathValue("number"))
	if n < 1 || n > len(s.pulls) {
		return nil, fail(http.StatusNotFound, "Not Found")
	}
	return s.pulls[n-1], nil
}

func (s *Server) getPull(req *http.Request) (*reply, *failure) {
	p, bad := s.find(req)
	if bad != nil {
		return nil, bad
	}
	body := s.pullBody(p, req, true)
	if p.nulls > 0 {
		p.nulls--
	}
	return ok(body), nil
}

func (s *Server) updatePull(req *http.Request) (*reply, *failure) {
	p, bad := s.find(req)
	if bad != nil {
		return nil, bad
	}
	var in struct{ State, Title, Body *string }
	if bad := read(req, &in); bad != nil {
		return nil, bad
	}
	if in.Title != nil {
		p.Title = *in.Title
	}
	if in.Body != nil {
		p.Body = *in.Body
	}
	if in.State != nil && !p.Merged {
		p.State, p.ClosedAt = *in.State, nil
		if p.State == "closed" {
			p.ClosedAt = now()
		}
	}
	return ok(s.pullBody(p, req, true)), nil
}

// mergePull merges as GitHub does: what cannot be merged, a conflict and what is merged already are one
// and the same 405.
func (s *Server) mergePull(req *http.Request) (*reply, *failure) {
	p, bad := s.find(req)
	if bad != nil {
		return nil, bad
	}
	var in struct {
		SHA           string
		CommitTitle   string `json:"commit_title"`
		CommitMessage string `json:"commit_message"`
		MergeMethod   string `json:"merge_method"`
	}
	if bad := read(req, &in); bad != nil {
		return nil, bad
	}
	if p.State != "open" || p.Draft {
		return nil, fail(http.StatusMethodNotAllowed, "Pull Request is not mergeable")
	}
	if in.SHA != "" && in.SHA != p.HeadSHA.String() {
		return nil, fail(http.StatusConflict, "Head branch was modified. Review and try the merge again.")
	}
	base, _ := s.tip(p.Base)
	files, clean := s.combine(base, p.HeadSHA)
	if !clean {
		return nil, fail(http.StatusMethodNotAllowed, "Pull Request is not mergeable")
	}
	message := strings.TrimRight(in.CommitTitle+"\n\n"+in.CommitMessage, "\n")
	if in.CommitTitle == "" {
		message = fmt.Sprintf("Merge pull request #%d from %s/%s\n\n%s", p.Number, s.options.Owner, p.Head, p.Title)
	}
	parents := []plumbing.Hash{base}
	switch in.MergeMethod {
	case "", "merge":
		parents = append(parents, p.HeadSHA)
	case "squash":
	default:
		return nil, fail(http.StatusMethodNotAllowed, "%s merges are not allowed on this repository.", strings.ToUpper(in.MergeMethod[:1])+in.MergeMethod[1:])
	}
	self := s.self()
	commit := s.putCommit(s.putTree(files), parents, self, self, message)
	if err := s.move(p.Base, commit); err != nil {
		return nil, fail(http.StatusMethodNotAllowed, "Base branch was modified. Review and try the merge again.")
	}
	if s.unrecorded {
		s.unrecorded = false
		return nil, fail(http.StatusBadGateway, "Server Error")
	}
	p.State, p.Merged, p.MergeCommit, p.ClosedAt, p.nulls = "closed", true, commit, now(), 0
	return ok(map[string]any{"sha": commit.String(), "merged": true, "message": "Pull Request successfully merged"}), nil
}

// combine merges two commits over their common ancestor, file by file; clean is false when one file was
// changed in two ways.
func (s *Server) combine(base, head plumbing.Hash) (files map[string]file, clean bool) {
	b, errB := s.repo.CommitObject(base)
	h, errH := s.repo.CommitObject(head)
	if errB != nil || errH != nil {
		return nil, false
	}
	before := map[string]file{}
	if common, err := b.MergeBase(h); err == nil && len(common) > 0 {
		t, _ := s.tree(common[0].Hash.String())
		before = s.flat(t)
	}
	bt, _ := s.tree(base.String())
	ht, _ := s.tree(head.String())
	ours, theirs := s.flat(bt), s.flat(ht)
	for path, f := range theirs {
		if f == before[path] || f == ours[path] {
			continue
		}
		if ours[path] != before[path] {
			return nil, false
		}
		ours[path] = f
	}
	for path, f := range before {
		if _, kept := theirs[path]; kept {
			continue
		}
		if ours[path] != f && ours[path] != (file{}) {
			return nil, false
		}
		delete(ours, path)
	}
	return ours, true
}

var pullPage = template.Must(template.New("pull").Parse(`<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{{.Title}}</title><style>body{font:16px/1.6 system-ui;max-width:44rem;margin:3rem auto;padding:0 1rem;color-scheme:light dark}pre{white-space:pre-wrap}</style>
<h1>#{{.Number}} {{.Title}}</h1><p>{{if .Merged}}merged as <code>{{.MergeCommit}}</code>{{else}}{{.State}}{{end}} · {{.Head}} → {{.Base}}</p><pre>{{.Body}}</pre>`))

func (s *Server) showPull(w http.ResponseWriter, req *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, bad := s.find(req)
	if bad != nil {
		http.NotFound(w, req)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = pullPage.Execute(w, p)
}

// Pull is a pull request as an audit sees it.
type Pull struct {
	Number int    `json:"number"`
	Head   string `json:"head"`
	State  string `json:"state"`
	Merged bool   `json:"merged"`
}

// Pulls lists all pull requests, oldest first.
func (s *Server) Pulls() []Pull {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Pull, len(s.pulls))
	for n, p := range s.pulls {
		out[n] = Pull{Number: p.Number, Head: p.Head, State: p.State, Merged: p.Merged}
	}
	return out
}
