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

	nulls     int           // reads until mergeability is known
	testMerge plumbing.Hash // once it is
	headLag   int           // reads and merges until the head is known
	recordLag int           // reads until the merge is
}

// shown is the pull request as it says it is, which can lag behind what is the case.
func (p *pull) shown() *pull {
	q := *p
	if p.headLag > 0 {
		q.HeadSHA = p.BaseSHA
	}
	if p.recordLag > 0 {
		q.State, q.Merged, q.ClosedAt, q.MergeCommit = "open", false, nil, plumbing.ZeroHash
	}
	return &q
}

func (p *pull) close() {
	p.State, p.ClosedAt, p.Updated = "closed", now(), *now()
}

// listPulls filters as GitHub does; a head without an owner is silently ignored.
func (s *Server) listPulls(req *http.Request) (*reply, *failure) {
	q := req.URL.Query()
	state := q.Get("state")
	if state == "" {
		state = "open"
	}
	owner, head, filtered := strings.Cut(q.Get("head"), ":")
	ours := strings.EqualFold(owner, s.options.Owner)
	all := []any{}
	for _, p := range slices.Backward(s.pulls) {
		if state != "all" && p.State != state || filtered && (!ours || p.Head != head) || q.Get("base") != "" && p.Base != q.Get("base") {
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
	last := max(1, (len(all)+size-1)/size)
	var links []string
	link := func(rel string, page int) {
		to := url.URL{Scheme: "http", Host: req.Host, Path: req.URL.Path}
		q.Set("page", strconv.Itoa(page))
		to.RawQuery = q.Encode()
		links = append(links, fmt.Sprintf(`<%s>; rel="%s"`, &to, rel))
	}
	if number > 1 {
		link("prev", min(number-1, last))
		link("first", 1)
	}
	if number < last {
		link("next", number+1)
		link("last", last)
	}
	if links != nil {
		r.header = http.Header{"Link": {strings.Join(links, ", ")}}
	}
	return r
}

func itoa(n int) string { return strconv.Itoa(n) }

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// invalid is a refusal that says why in words.
func invalid(message string) *failure {
	return refused(map[string]string{"code": "custom", "message": message})
}

// refused is GitHub's answer to a pull request that makes no sense.
func refused(why map[string]string) *failure {
	why["resource"] = "PullRequest"
	return &failure{status: http.StatusUnprocessableEntity, message: "Validation Failed", errors: []map[string]string{why}}
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
	switch {
	case !okHead:
		return nil, refused(map[string]string{"field": "head", "code": "invalid"})
	case !okBase:
		return nil, refused(map[string]string{"field": "base", "code": "invalid"})
	case in.Title == "":
		return nil, refused(map[string]string{"field": "title", "code": "missing_field"})
	case s.hasOpen(branch, in.Base):
		return nil, invalid(fmt.Sprintf("A pull request already exists for %s:%s.", s.options.Owner, branch))
	}
	if s.ancestors(base)[head] {
		return nil, invalid(fmt.Sprintf("No commits between %s and %s", in.Base, branch))
	}
	p := &pull{
		Number: len(s.pulls) + 1, Title: in.Title, Body: in.Body, Head: branch, Base: in.Base, State: "open", HeadSHA: head, BaseSHA: base,
		Draft: in.Draft, Created: *now(), Updated: *now(), nulls: 1, headLag: s.settings.HeadLag, // nothing is known yet
	}
	s.pulls = append(s.pulls, p)
	body := s.pullBody(p, req, true)
	p.nulls = s.settings.Nulls
	return &reply{status: http.StatusCreated, body: body}, nil
}

func (s *Server) hasOpen(head, base string) bool {
	return slices.ContainsFunc(s.pulls, func(p *pull) bool { return p.State == "open" && p.Head == head && p.Base == base })
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
	for _, n := range []*int{&p.nulls, &p.headLag, &p.recordLag} {
		count(n)
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
	if in.State != nil && *in.State != p.State {
		if bad := s.setState(p, *in.State); bad != nil {
			return nil, bad
		}
	}
	if in.Title != nil {
		p.Title = *in.Title
	}
	if in.Body != nil {
		p.Body = *in.Body
	}
	p.Updated = *now()
	return ok(s.pullBody(p, req, true)), nil
}

// setState closes a pull request, or opens it again when nothing stands against that.
func (s *Server) setState(p *pull, state string) *failure {
	tip, exists := s.tip(p.Head)
	switch {
	case state == "closed":
		p.close()
		return nil
	case state != "open":
		return refused(map[string]string{"field": "state", "code": "invalid"})
	case p.Merged:
		return invalid("state cannot be changed. The pull request cannot be reopened.")
	case !exists:
		return invalid(fmt.Sprintf("state cannot be changed. The %s branch has been deleted.", p.Head))
	case !s.ancestors(tip)[p.HeadSHA]:
		return invalid(fmt.Sprintf("state cannot be changed. The %s branch was force-pushed or recreated.", p.Head))
	case s.hasOpen(p.Head, p.Base):
		return invalid(fmt.Sprintf("A pull request already exists for %s:%s.", s.options.Owner, p.Head))
	}
	p.State, p.ClosedAt, p.HeadSHA, p.nulls = "open", nil, tip, s.settings.Nulls
	return nil
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
