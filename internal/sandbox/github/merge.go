package github

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// mergePull merges as GitHub does: what cannot be merged, a conflict and what is merged already are one
// and the same 405.
func (s *Server) mergePull(req *http.Request) (*reply, *failure) {
	p, bad := s.find(req)
	if bad != nil {
		return nil, bad
	}
	var in mergeRequest
	if bad := read(req, &in); bad != nil {
		return nil, bad
	}
	files, bad := s.mayMerge(p, in)
	if bad != nil {
		return nil, bad
	}
	base, _ := s.tip(p.Base)
	parents := []plumbing.Hash{base}
	if in.MergeMethod != "squash" {
		parents = append(parents, p.HeadSHA)
	}
	author := s.self()
	web := stamp{Name: "GitHub", Email: "noreply@github.com", Date: author.Date}
	commit := s.putCommit(s.putTree(files), parents, author, web, s.mergeMessage(p, in))
	if err := s.move(p.Base, commit); err != nil {
		return nil, fail(http.StatusMethodNotAllowed, "Base branch was modified. Review and try the merge again.")
	}
	if s.unrecorded {
		s.unrecorded = false
		return nil, &failure{status: http.StatusBadGateway, message: "Server Error", landed: true}
	}
	p.close()
	p.Merged, p.MergeCommit, p.nulls = true, commit, 0
	return ok(map[string]any{"sha": commit.String(), "merged": true, "message": "Pull Request successfully merged"}), nil
}

// mergeRequest is what a merge is asked with. The repository allows merge commits and squashing.
type mergeRequest struct {
	SHA           string
	CommitTitle   string `json:"commit_title"`
	CommitMessage string `json:"commit_message"`
	MergeMethod   string `json:"merge_method"`
}

// mayMerge answers the merged files, or GitHub's reason against merging.
func (s *Server) mayMerge(p *pull, in mergeRequest) (map[string]file, *failure) {
	if !slices.Contains([]string{"", "merge", "squash", "rebase"}, in.MergeMethod) {
		return nil, fail(http.StatusUnprocessableEntity, "Invalid request.\n\n%s is not a member of [\"merge\", \"squash\", \"rebase\"].", in.MergeMethod)
	}
	if p.State != "open" || p.Draft {
		return nil, fail(http.StatusMethodNotAllowed, "Pull Request is not mergeable")
	}
	if in.MergeMethod == "rebase" {
		return nil, fail(http.StatusMethodNotAllowed, "Rebase merges are not allowed on this repository.")
	}
	if in.SHA != "" && in.SHA != p.HeadSHA.String() {
		return nil, fail(http.StatusConflict, "Head branch was modified. Review and try the merge again.")
	}
	base, _ := s.tip(p.Base)
	files, clean := s.combine(base, p.HeadSHA)
	if !clean {
		return nil, fail(http.StatusMethodNotAllowed, "Pull Request is not mergeable")
	}
	return files, nil
}

// mergeMessage is the title and message that are asked for, or GitHub's own for what is not.
func (s *Server) mergeMessage(p *pull, in mergeRequest) string {
	title, message := fmt.Sprintf("Merge pull request #%d from %s/%s", p.Number, s.options.Owner, p.Head), p.Title
	if in.MergeMethod == "squash" {
		title, message = fmt.Sprintf("%s (#%d)", p.Title, p.Number), ""
	}
	if in.CommitTitle != "" {
		title, message = in.CommitTitle, ""
	}
	if in.CommitMessage != "" {
		message = in.CommitMessage
	}
	return strings.TrimRight(title+"\n\n"+message, "\n")
}

// testMerge makes the commit that GitHub tries a merge with. It is on no branch, and proves nothing.
func (s *Server) testMerge(p *pull, base plumbing.Hash, files map[string]file) plumbing.Hash {
	who := stamp{Name: "GitHub", Email: "noreply@github.com", Date: p.Created}
	return s.putCommit(s.putTree(files), []plumbing.Hash{base, p.HeadSHA}, who, who, fmt.Sprintf("Merge %s into %s", p.HeadSHA, base))
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
	return ours, !tangled(ours)
}
