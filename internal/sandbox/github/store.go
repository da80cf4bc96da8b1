package github

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"sort"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// file is one file of a flattened tree.
type file struct {
	mode string
	hash plumbing.Hash
}

// stamp is an author or committer.
type stamp struct {
	Name  string    `json:"name"`
	Email string    `json:"email"`
	Date  time.Time `json:"date"`
}

// crud is what Git leaves out of names and addresses.
var crud = strings.NewReplacer("<", "", ">", "", "\n", "", "\x00", "")

func (p stamp) line() string {
	_, offset := p.Date.Zone()
	sign := '+'
	if offset < 0 {
		sign, offset = '-', -offset
	}
	return fmt.Sprintf("%s <%s> %d %c%02d%02d", crud.Replace(p.Name), crud.Replace(p.Email), p.Date.Unix(), sign, offset/3600, offset%3600/60)
}

// put stores one object. The store is a folder of this machine: a failure is the machine's, and panics.
func (s *Server) put(kind plumbing.ObjectType, content []byte) plumbing.Hash {
	o := s.repo.Storer.NewEncodedObject()
	o.SetType(kind)
	w, err := o.Writer()
	if err == nil {
		_, err = w.Write(content)
	}
	if err == nil {
		err = w.Close()
	}
	var hash plumbing.Hash
	if err == nil {
		hash, err = s.repo.Storer.SetEncodedObject(o)
	}
	if err != nil {
		panic(fmt.Sprintf("sandbox repository: %v", err))
	}
	return hash
}

// putTree stores a flattened tree, folder by folder.
func (s *Server) putTree(files map[string]file) plumbing.Hash {
	type line struct {
		mode, name string
		hash       plumbing.Hash
	}
	var lines []line
	folders := map[string]map[string]file{}
	for path, f := range files {
		dir, rest, nested := strings.Cut(path, "/")
		if !nested {
			lines = append(lines, line{f.mode, path, f.hash})
			continue
		}
		if folders[dir] == nil {
			folders[dir] = map[string]file{}
		}
		folders[dir][rest] = f
	}
	for dir, inside := range folders {
		lines = append(lines, line{"40000", dir, s.putTree(inside)})
	}
	key := func(l line) string {
		if l.mode == "40000" {
			return l.name + "/"
		}
		return l.name
	}
	sort.Slice(lines, func(i, j int) bool { return key(lines[i]) < key(lines[j]) })
	var b bytes.Buffer
	for _, l := range lines {
		fmt.Fprintf(&b, "%s %s\x00", l.mode, l.name)
		b.Write(l.hash[:])
	}
	return s.put(plumbing.TreeObject, b.Bytes())
}

// putCommit stores a commit exactly as plain Git writes it, with nothing added to the message.
func (s *Server) putCommit(tree plumbing.Hash, parents []plumbing.Hash, author, committer stamp, message string) plumbing.Hash {
	var b bytes.Buffer
	fmt.Fprintf(&b, "tree %s\n", tree)
	for _, p := range parents {
		fmt.Fprintf(&b, "parent %s\n", p)
	}
	fmt.Fprintf(&b, "author %s\ncommitter %s\n\n%s", author.line(), committer.line(), message)
	return s.put(plumbing.CommitObject, b.Bytes())
}

func contents(o plumbing.EncodedObject) ([]byte, error) {
	r, err := o.Reader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// flat is a commit's or tree's whole content.
func (s *Server) flat(tree *object.Tree) map[string]file {
	out := map[string]file{}
	_ = tree.Files().ForEach(func(f *object.File) error {
		out[f.Name] = file{mode: strings.TrimLeft(f.Mode.String(), "0"), hash: f.Hash}
		return nil
	})
	return out
}

func (s *Server) tip(branch string) (plumbing.Hash, bool) {
	ref, err := s.repo.Storer.Reference(plumbing.NewBranchReferenceName(branch))
	if err != nil {
		return plumbing.ZeroHash, false
	}
	return ref.Hash(), true
}

// move sets a branch, and tells the pull requests that it touches.
func (s *Server) move(branch string, to plumbing.Hash) error {
	if err := s.repo.Storer.SetReference(plumbing.NewHashReference(plumbing.NewBranchReferenceName(branch), to)); err != nil {
		return fmt.Errorf("sandbox repository: %w", err)
	}
	for _, p := range s.pulls {
		if p.State != "open" {
			continue
		}
		if p.Head == branch {
			p.HeadSHA = to
		}
		if p.Head == branch || p.Base == branch {
			p.nulls, p.testMerge, p.Updated = s.settings.Nulls, plumbing.ZeroHash, *now()
		}
	}
	return nil
}

func parseHash(s string) (plumbing.Hash, bool) {
	b, err := hex.DecodeString(s)
	return plumbing.NewHash(s), err == nil && len(b) == 20
}

// tree finds a tree by its own name or a commit's.
func (s *Server) tree(sha string) (*object.Tree, bool) {
	h, ok := parseHash(sha)
	if !ok {
		return nil, false
	}
	if c, err := s.repo.CommitObject(h); err == nil {
		h = c.TreeHash
	}
	t, err := s.repo.TreeObject(h)
	return t, err == nil
}

// Tree answers a branch's tip and its files, for the site.
func (s *Server) Tree(branch string) (commit string, files map[string][]byte, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tip, ok := s.tip(branch)
	if !ok {
		return "", nil, fmt.Errorf("no branch %s", branch)
	}
	t, _ := s.tree(tip.String())
	files = map[string][]byte{}
	err = t.Files().ForEach(func(f *object.File) error {
		text, err := f.Contents()
		files[f.Name] = []byte(text)
		return err
	})
	return tip.String(), files, err
}

// History lists the commits on the base branch after the first, newest first: all but merges, and merges.
func (s *Server) History() (plain, merges []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tip, found := s.commit(s.options.Base)
	if !found {
		return nil, nil
	}
	_ = object.NewCommitIterCTime(tip, nil, nil).ForEach(func(c *object.Commit) error {
		switch len(c.ParentHashes) {
		case 0:
		case 1:
			plain = append(plain, c.Hash.String())
		default:
			merges = append(merges, c.Hash.String())
		}
		return nil
	})
	return plain, merges
}

// Branches lists every branch but the base.
func (s *Server) Branches() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	refs, err := s.repo.Branches()
	if err != nil {
		return nil
	}
	_ = refs.ForEach(func(r *plumbing.Reference) error {
		if name := r.Name().Short(); name != s.options.Base {
			out = append(out, name)
		}
		return nil
	})
	return out
}

// ancestors is a commit with everything before it.
func (s *Server) ancestors(from plumbing.Hash) map[plumbing.Hash]bool {
	seen := map[plumbing.Hash]bool{}
	for todo := []plumbing.Hash{from}; len(todo) > 0; todo = todo[1:] {
		if seen[todo[0]] {
			continue
		}
		seen[todo[0]] = true
		if c, err := s.repo.CommitObject(todo[0]); err == nil {
			todo = append(todo, c.ParentHashes...)
		}
	}
	return seen
}
