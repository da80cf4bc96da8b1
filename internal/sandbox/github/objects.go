package github

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

func (s *Server) api(format string, args ...any) string {
	return fmt.Sprintf("https://api.github.com/repos/%s/%s/", s.options.Owner, s.options.Repo) + fmt.Sprintf(format, args...)
}

func (s *Server) refBody(name string, h plumbing.Hash) any {
	return map[string]any{
		"ref": name, "node_id": "REF_" + h.String()[:8], "url": s.api("git/%s", name),
		"object": map[string]any{"type": "commit", "sha": h.String(), "url": s.api("git/commits/%s", h)},
	}
}

func (s *Server) getRef(req *http.Request) (*reply, *failure) {
	name := req.PathValue("ref")
	branch, isBranch := strings.CutPrefix(name, "heads/")
	if h, found := s.tip(branch); found && isBranch {
		return ok(s.refBody("refs/"+name, h)), nil
	}
	return nil, fail(http.StatusNotFound, "Not Found")
}

func (s *Server) createRef(req *http.Request) (*reply, *failure) {
	var in struct{ Ref, SHA string }
	if bad := read(req, &in); bad != nil {
		return nil, bad
	}
	branch, isBranch := strings.CutPrefix(in.Ref, "refs/heads/")
	h, isHash := parseHash(in.SHA)
	if !isBranch || branch == "" {
		return nil, fail(http.StatusUnprocessableEntity, "Reference name must start with 'refs' and contain at least two slashes.")
	}
	if _, err := s.repo.CommitObject(h); err != nil || !isHash {
		return nil, fail(http.StatusUnprocessableEntity, "Object does not exist")
	}
	if _, exists := s.tip(branch); exists {
		return nil, fail(http.StatusUnprocessableEntity, "Reference already exists")
	}
	if s.clashes(branch) {
		return nil, fail(http.StatusUnprocessableEntity, "Reference update failed")
	}
	if err := s.move(branch, h); err != nil {
		return nil, fail(http.StatusUnprocessableEntity, "Reference update failed")
	}
	return &reply{status: http.StatusCreated, body: s.refBody(in.Ref, h)}, nil
}

// clashes says whether a branch's name is a folder of another's, or the other way round.
func (s *Server) clashes(branch string) bool {
	refs, err := s.repo.Branches()
	if err != nil {
		return true
	}
	clash := false
	_ = refs.ForEach(func(r *plumbing.Reference) error {
		other := r.Name().Short()
		clash = clash || strings.HasPrefix(branch, other+"/") || strings.HasPrefix(other, branch+"/")
		return nil
	})
	return clash
}

func (s *Server) updateRef(req *http.Request) (*reply, *failure) {
	var in struct {
		SHA   string
		Force bool
	}
	if bad := read(req, &in); bad != nil {
		return nil, bad
	}
	branch := strings.TrimPrefix(req.PathValue("ref"), "heads/")
	h, isHash := parseHash(in.SHA)
	was, exists := s.tip(branch)
	if !exists {
		return nil, fail(http.StatusUnprocessableEntity, "Reference does not exist")
	}
	if _, err := s.repo.CommitObject(h); err != nil || !isHash {
		return nil, fail(http.StatusUnprocessableEntity, "Object does not exist")
	}
	if !in.Force && !s.ancestors(h)[was] {
		return nil, fail(http.StatusUnprocessableEntity, "Update is not a fast forward")
	}
	if err := s.move(branch, h); err != nil {
		return nil, fail(http.StatusUnprocessableEntity, "Reference update failed")
	}
	return ok(s.refBody("refs/heads/"+branch, h)), nil
}

func (s *Server) deleteRef(req *http.Request) (*reply, *failure) {
	branch := strings.TrimPrefix(req.PathValue("ref"), "heads/")
	if _, exists := s.tip(branch); !exists {
		return nil, fail(http.StatusUnprocessableEntity, "Reference does not exist")
	}
	if err := s.repo.Storer.RemoveReference(plumbing.NewBranchReferenceName(branch)); err != nil {
		return nil, fail(http.StatusUnprocessableEntity, "Reference update failed")
	}
	for _, p := range s.pulls { // GitHub closes what can no longer be merged
		if p.Head == branch && p.State == "open" {
			p.State, p.ClosedAt = "closed", now()
		}
	}
	return &reply{status: http.StatusNoContent}, nil
}

func now() *time.Time {
	t := time.Now().UTC().Truncate(time.Second)
	return &t
}

func (s *Server) getTree(req *http.Request) (*reply, *failure) {
	t, found := s.tree(req.PathValue("sha"))
	if !found {
		return nil, fail(http.StatusNotFound, "Not Found")
	}
	entries := []any{}
	s.list(t, "", req.URL.Query().Get("recursive") != "", &entries)
	return ok(s.treeBody(t.Hash, entries)), nil
}

func (s *Server) treeBody(h plumbing.Hash, entries []any) any {
	return map[string]any{"sha": h.String(), "url": s.api("git/trees/%s", h), "tree": entries, "truncated": false}
}

func (s *Server) list(t *object.Tree, prefix string, recursive bool, out *[]any) {
	for _, e := range t.Entries {
		kind, mode := "blob", fmt.Sprintf("%06o", uint32(e.Mode))
		entry := map[string]any{"path": path.Join(prefix, e.Name), "mode": mode, "sha": e.Hash.String()}
		sub, err := s.repo.TreeObject(e.Hash)
		if err == nil {
			kind = "tree"
		} else if b, err := s.repo.BlobObject(e.Hash); err == nil {
			entry["size"] = b.Size
		}
		entry["type"], entry["url"] = kind, s.api("git/%ss/%s", kind, e.Hash)
		*out = append(*out, entry)
		if kind == "tree" && recursive {
			s.list(sub, path.Join(prefix, e.Name), true, out)
		}
	}
}

func (s *Server) createTree(req *http.Request) (*reply, *failure) {
	var in struct {
		BaseTree string `json:"base_tree"`
		Tree     []struct {
			Path, Mode, Type string
			SHA, Content     *string
		}
	}
	if bad := read(req, &in); bad != nil {
		return nil, bad
	}
	files := map[string]file{}
	if in.BaseTree != "" {
		base, found := s.tree(in.BaseTree)
		if !found {
			return nil, fail(http.StatusNotFound, "Not Found")
		}
		files = s.flat(base)
	}
	if len(in.Tree) == 0 {
		return nil, fail(http.StatusUnprocessableEntity, "Invalid tree info")
	}
	for _, e := range in.Tree {
		if e.Path == "" || path.Clean(e.Path) != e.Path || strings.HasPrefix(e.Path, "/") || strings.HasPrefix(e.Path, "../") || e.Mode != "100644" && e.Mode != "100755" {
			return nil, fail(http.StatusUnprocessableEntity, "tree.path contains a malformed path component")
		}
		switch {
		case e.Content != nil && e.SHA == nil:
			files[e.Path] = file{mode: e.Mode, hash: s.put(plumbing.BlobObject, []byte(*e.Content))}
		case e.SHA != nil:
			h, valid := parseHash(*e.SHA)
			if _, err := s.repo.BlobObject(h); err != nil || !valid {
				return nil, fail(http.StatusUnprocessableEntity, "tree.sha %s is not a valid blob", *e.SHA)
			}
			files[e.Path] = file{mode: e.Mode, hash: h}
		default: // sha null removes
			delete(files, e.Path)
		}
	}
	h := s.putTree(files)
	t, _ := s.tree(h.String())
	entries := []any{}
	s.list(t, "", false, &entries)
	return &reply{status: http.StatusCreated, body: s.treeBody(h, entries)}, nil
}

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
	if _, err := s.repo.TreeObject(tree); err != nil || !isHash || in.Message == "" {
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
	if author.Date.IsZero() {
		author.Date = *now()
	}
	committer := author
	if in.Committer != nil {
		committer = *in.Committer
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

func (s *Server) getContents(req *http.Request) (*reply, *failure) {
	rev := req.URL.Query().Get("ref")
	if tip, isBranch := s.tip(rev); isBranch || rev == "" {
		if rev == "" {
			tip, _ = s.tip(s.options.Base)
		}
		rev = tip.String()
	}
	t, found := s.tree(rev)
	if !found {
		return nil, fail(http.StatusNotFound, "No commit found for the ref %s", rev)
	}
	f, err := t.File(req.PathValue("path"))
	if err != nil {
		return nil, fail(http.StatusNotFound, "Not Found")
	}
	text, err := f.Contents()
	if err != nil {
		return nil, fail(http.StatusNotFound, "Not Found")
	}
	self, blob, html := s.api("contents/%s?ref=%s", f.Name, rev), s.api("git/blobs/%s", f.Hash), s.page("blob/%s/%s", rev, f.Name)
	return ok(map[string]any{
		"type": "file", "encoding": "base64", "size": len(text), "name": path.Base(f.Name), "path": req.PathValue("path"), "sha": f.Hash.String(),
		"content": base64.StdEncoding.EncodeToString([]byte(text)), "url": self, "git_url": blob, "html_url": html, "download_url": nil,
		"_links": map[string]any{"self": self, "git": blob, "html": html},
	}), nil
}
