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
	commit := s.mergeCommit(p, in, files)
	if err := s.move(p.Base, commit); err != nil {
		return nil, fail(http.StatusMethodNotAllowed, "Base branch was modified. Review and try the merge again.")
	}
	if count(&s.settings.MergeUnrecorded) {
		s.stale++
		return nil, &failure{status: http.StatusBadGateway, message: "Server Error", landed: true}
	}
	p.close()
	p.Merged, p.MergeCommit, p.nulls, p.recordLag = true, commit, 0, s.settings.RecordLag
	if count(&s.settings.MergeDenied) {
		return nil, &failure{status: http.StatusMethodNotAllowed, message: "Pull Request is not mergeable", landed: true}
	}
	return ok(map[string]any{"sha": commit.String(), "merged": true, "message": "Pull Request successfully merged"}), nil
}

// mergeCommit makes what the base branch will point at: a merge, a squashed commit, or, by rebasing, the
// pull request's last commit again, by its author, on top of the base.
func (s *Server) mergeCommit(p *pull, in mergeRequest, files map[string]file) plumbing.Hash {
	base, _ := s.tip(p.Base)
	author, parents, message := s.self(), []plumbing.Hash{base}, s.mergeMessage(p, in)
	web := stamp{Name: "GitHub", Email: "noreply@github.com", Date: author.Date}
	switch in.MergeMethod {
	case "squash":
	case "rebase":
		head, _ := s.repo.CommitObject(p.HeadSHA)
		message, web, author = head.Message, author, stamp{Name: head.Author.Name, Email: head.Author.Email, Date: head.Author.When}
	default:
		parents = append(parents, p.HeadSHA)
	}
	return s.putCommit(s.putTree(files), parents, author, web, message)
}

// mergeRequest is what a merge is asked with.
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
	method := in.MergeMethod
	if method == "" {
		method = "merge"
	}
	if !s.allows(method) {
		name := map[string]string{"merge": "Merge commits", "squash": "Squash merges", "rebase": "Rebase merges"}[method]
		return nil, fail(http.StatusMethodNotAllowed, "%s are not allowed on this repository.", name)
	}
	if count(&p.headLag) || in.SHA != "" && in.SHA != p.HeadSHA.String() {
		return nil, fail(http.StatusConflict, "Head branch was modified. Review and try the merge again.")
	}
	switch {
	case count(&s.settings.BaseModified):
		return nil, fail(http.StatusMethodNotAllowed, "Base branch was modified. Review and try the merge again.")
	case count(&s.settings.MergeInProgress):
		return nil, fail(http.StatusMethodNotAllowed, "Merge already in progress")
	}
	if why := s.outstanding(method); why != "" {
		return nil, fail(http.StatusMethodNotAllowed, "%s", why)
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
