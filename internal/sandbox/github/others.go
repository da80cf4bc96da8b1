package github

import (
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
)

// What follows is done by others than the client under test: people with the repository checked out, GitHub's
// support. It goes past the API, and is counted as nobody's change.

// StaleRecords counts the pull requests that say open although their merge has landed.
func (s *Server) StaleRecords() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stale
}

// Push puts another commit on a branch, as somebody does who has it checked out, and answers how to take it back.
// It fails when there is no such branch.
func (s *Server) Push(branch string) (undo func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, found := s.tip(branch)
	if !found {
		return nil, fmt.Errorf("no branch %s", branch)
	}
	t, _ := s.tree(was.String())
	files := s.flat(t)
	files["NOTES.md"] = file{mode: "100644", hash: s.put(plumbing.BlobObject, []byte("A thought.\n"))}
	who := stamp{Name: "Eve", Email: "eve@example.org", Date: *now()}
	if err := s.move(branch, s.putCommit(s.putTree(files), []plumbing.Hash{was}, who, who, "Add a thought")); err != nil {
		return nil, err
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		_ = s.move(branch, was)
	}, nil
}

// Remove takes a file off the base branch, as somebody does by hand.
func (s *Server) Remove(path string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	base := s.options.Base
	was, found := s.tip(base)
	if !found {
		return fmt.Errorf("no branch %s", base)
	}
	t, _ := s.tree(was.String())
	files := s.flat(t)
	delete(files, path)
	who := stamp{Name: "Eve", Email: "eve@example.org", Date: *now()}
	return s.move(base, s.putCommit(s.putTree(files), []plumbing.Hash{was}, who, who, "Remove "+path))
}

// Branch puts a branch at a commit, as somebody else does; without a commit it removes it.
func (s *Server) Branch(name, commit string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if commit == "" {
		return s.repo.Storer.RemoveReference(plumbing.NewBranchReferenceName(name))
	}
	h, _ := parseHash(commit)
	if _, err := s.repo.CommitObject(h); err != nil {
		return fmt.Errorf("commit %s: %w", commit, err)
	}
	return s.move(name, h)
}

// Open opens a pull request, as somebody else does, and answers its number. Its branch must exist.
func (s *Server) Open(branch, body string) (number int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	head, found := s.tip(branch)
	base, _ := s.tip(s.options.Base)
	if !found {
		return 0, fmt.Errorf("no branch %s", branch)
	}
	p := &pull{
		Number: len(s.pulls) + 1, Title: "A proposal", Body: body, Head: branch, Base: s.options.Base, State: "open", HeadSHA: head, BaseSHA: base,
		Created: *now(), Updated: *now(),
	}
	s.pulls = append(s.pulls, p)
	return p.Number, nil
}

// Forget removes every pull request, which GitHub's support does on request.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pulls = nil
}
