package github

import (
	"net/http"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

func (s *Server) gitCommitBody(c *object.Commit) map[string]any {
	parents := []any{}
	for _, p := range c.ParentHashes {
		parents = append(parents, map[string]any{"sha": p.String(), "url": s.api("git/commits/%s", p), "html_url": s.page("commit/%s", p)})
	}
	who := func(w object.Signature) any {
		return map[string]any{"name": w.Name, "email": w.Email, "date": w.When.UTC().Format(time.RFC3339)}
	}
	return map[string]any{
		"sha": c.Hash.String(), "node_id": "C_" + c.Hash.String()[:8], "url": s.api("git/commits/%s", c.Hash), "html_url": s.page("commit/%s", c.Hash),
		"author": who(c.Author), "committer": who(c.Committer), "message": c.Message, "parents": parents,
		"tree":         map[string]any{"sha": c.TreeHash.String(), "url": s.api("git/trees/%s", c.TreeHash)},
		"verification": map[string]any{"verified": false, "reason": "unsigned", "signature": nil, "payload": nil, "verified_at": nil},
	}
}

func (s *Server) getGitCommit(req *http.Request) (*reply, *failure) {
	h, valid := parseHash(req.PathValue("sha"))
	c, err := s.repo.CommitObject(h)
	if err != nil || !valid {
		return nil, fail(http.StatusNotFound, "Not Found")
	}
	return ok(s.gitCommitBody(c)), nil
}

func (s *Server) createCommit(req *http.Request) (*reply, *failure) {
	var in struct {
		Message, Tree     string
		Parents           []string
		Author, Committer *stamp
	}
	if bad := read(req, &in); bad != nil {
		return nil, bad
	}
	tree, isHash := parseHash(in.Tree)
	if in.Message == "" {
		return nil, fail(http.StatusUnprocessableEntity, "Invalid request.\n\n\"message\" wasn't supplied.")
	}
	if _, err := s.repo.TreeObject(tree); err != nil || !isHash {
		return nil, fail(http.StatusUnprocessableEntity, "Tree SHA does not exist")
	}
	var parents []plumbing.Hash
	for _, p := range in.Parents {
		h, isHash := parseHash(p)
		if _, err := s.repo.CommitObject(h); err != nil || !isHash {
			return nil, fail(http.StatusUnprocessableEntity, "Parent SHA does not exist or is not a commit object")
		}
		parents = append(parents, h)
	}
	author := s.self()
	if in.Author != nil {
		author = *in.Author
	}
	committer := author
	if in.Committer != nil {
		committer = *in.Committer
	}
	for _, who := range []*stamp{&author, &committer} {
		if who.Name == "" || who.Email == "" {
			return nil, fail(http.StatusUnprocessableEntity, "Invalid request.\n\n\"name\", \"email\" weren't supplied.")
		}
		if who.Date.IsZero() {
			who.Date = *now()
		}
	}
	c, err := s.repo.CommitObject(s.putCommit(tree, parents, author, committer, in.Message))
	if err != nil {
		return nil, fail(http.StatusUnprocessableEntity, "%v", err)
	}
	return &reply{status: http.StatusCreated, body: s.gitCommitBody(c)}, nil
}

func (s *Server) self() stamp {
	return stamp{Name: s.options.Login, Email: s.options.Login + "@users.noreply.example.org", Date: *now()}
}

func now() *time.Time {
	t := time.Now().UTC().Truncate(time.Second)
	return &t
}

// getCommit finds a commit by its SHA or by a branch.
func (s *Server) getCommit(req *http.Request) (*reply, *failure) {
	c, found := s.commit(req.PathValue("ref"))
	if !found {
		return nil, noCommit(req)
	}
	return ok(s.commitBody(c)), nil
}

func noCommit(req *http.Request) *failure {
	return fail(http.StatusUnprocessableEntity, "No commit found for SHA: %s", req.PathValue("ref"))
}

// commit finds a commit by its SHA or by a branch.
func (s *Server) commit(rev string) (*object.Commit, bool) {
	h, valid := parseHash(rev)
	if tip, isBranch := s.tip(rev); isBranch {
		h, valid = tip, true
	}
	c, err := s.repo.CommitObject(h)
	return c, err == nil && valid
}

// listCommits lists the ancestors of a commit that changed a path, newest first.
func (s *Server) listCommits(req *http.Request) (*reply, *failure) {
	q := req.URL.Query()
	from := q.Get("sha")
	if from == "" {
		from = s.options.Base
	}
	first, found := s.commit(from)
	if !found {
		return nil, fail(http.StatusNotFound, "Not Found")
	}
	all := []any{}
	seen := map[plumbing.Hash]bool{}
	_ = object.NewCommitPreorderIter(first, nil, nil).ForEach(func(c *object.Commit) error {
		if !seen[c.Hash] && s.touches(c, q.Get("path")) {
			all = append(all, s.commitBody(c))
		}
		seen[c.Hash] = true
		return nil
	})
	return paged(req, all), nil
}

// touches says whether a commit changed a path against each of its parents.
func (s *Server) touches(c *object.Commit, path string) bool {
	if path == "" {
		return true
	}
	blob := func(h plumbing.Hash) plumbing.Hash {
		t, found := s.tree(h.String())
		if !found {
			return plumbing.ZeroHash
		}
		f, err := t.FindEntry(path) // a file's or a folder's
		if err != nil {
			return plumbing.ZeroHash
		}
		return f.Hash
	}
	mine := blob(c.Hash)
	for _, p := range c.ParentHashes {
		if blob(p) == mine {
			return false
		}
	}
	return len(c.ParentHashes) > 0 || mine != plumbing.ZeroHash
}

func (s *Server) commitBody(c *object.Commit) map[string]any {
	inner := s.gitCommitBody(c)
	parents := inner["parents"]
	commit := map[string]any{"comment_count": 0}
	for _, name := range []string{"author", "committer", "message", "tree", "verification", "url"} {
		commit[name] = inner[name]
	}
	return map[string]any{
		"sha": c.Hash.String(), "node_id": inner["node_id"], "url": s.api("commits/%s", c.Hash), "html_url": inner["html_url"],
		"comments_url": s.api("commits/%s/comments", c.Hash), "commit": commit, "author": s.user(), "committer": s.user(), "parents": parents,
	}
}
