package github

import (
	"net/http"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

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

// matchingRefs lists the branches whose full name begins as asked for; none is an empty list, not a 404.
func (s *Server) matchingRefs(req *http.Request) (*reply, *failure) {
	var names []string
	refs, err := s.repo.Branches()
	if err != nil {
		return nil, fail(http.StatusInternalServerError, "%v", err)
	}
	_ = refs.ForEach(func(r *plumbing.Reference) error {
		if strings.HasPrefix(r.Name().String(), "refs/"+req.PathValue("ref")) {
			names = append(names, r.Name().Short())
		}
		return nil
	})
	slices.Sort(names)
	all := []any{}
	for _, name := range names {
		h, _ := s.tip(name)
		all = append(all, s.refBody("refs/heads/"+name, h))
	}
	return paged(req, all), nil
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
	if !wellFormed(branch) {
		return nil, fail(http.StatusUnprocessableEntity, "%s is not a valid ref name.", in.Ref)
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

// wellFormed says whether Git accepts a branch's name (git-check-ref-format).
func wellFormed(branch string) bool {
	return !strings.HasPrefix(branch, "-") && plumbing.NewBranchReferenceName(branch).Validate() == nil
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
	branch, isBranch := strings.CutPrefix(req.PathValue("ref"), "heads/")
	h, isHash := parseHash(in.SHA)
	was, exists := s.tip(branch)
	if !exists || !isBranch {
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
	branch, isBranch := strings.CutPrefix(req.PathValue("ref"), "heads/")
	if _, exists := s.tip(branch); !exists || !isBranch {
		return nil, fail(http.StatusUnprocessableEntity, "Reference does not exist")
	}
	if err := s.repo.Storer.RemoveReference(plumbing.NewBranchReferenceName(branch)); err != nil {
		return nil, fail(http.StatusUnprocessableEntity, "Reference update failed")
	}
	for _, p := range s.pulls { // GitHub closes what can no longer be merged
		if p.Head == branch && p.State == "open" {
			p.close()
		}
	}
	return &reply{status: http.StatusNoContent}, nil
}
