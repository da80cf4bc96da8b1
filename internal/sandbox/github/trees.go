package github

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

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

// treeEntry is one line of a tree that is asked for. SHA tells null, which removes, from absent.
type treeEntry struct {
	Path, Mode string
	SHA        json.RawMessage
	Content    *string
}

func (s *Server) createTree(req *http.Request) (*reply, *failure) {
	var in struct {
		BaseTree string `json:"base_tree"`
		Tree     []treeEntry
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
		if bad := s.enter(files, e); bad != nil {
			return nil, bad
		}
	}
	if tangled(files) {
		return nil, fail(http.StatusUnprocessableEntity, "GitRPC::BadObjectState")
	}
	h := s.putTree(files)
	t, _ := s.tree(h.String())
	entries := []any{}
	s.list(t, "", false, &entries)
	return &reply{status: http.StatusCreated, body: s.treeBody(h, entries)}, nil
}

// enter adds, replaces or removes one file.
func (s *Server) enter(files map[string]file, e treeEntry) *failure {
	for part := range strings.SplitSeq(e.Path, "/") {
		if slices.Contains([]string{"", ".", "..", ".git"}, strings.ToLower(part)) {
			return fail(http.StatusUnprocessableEntity, "tree.path contains a malformed path component")
		}
	}
	if e.Mode != "100644" && e.Mode != "100755" {
		return fail(http.StatusUnprocessableEntity, "Must supply a valid tree.mode")
	}
	switch {
	case e.Content != nil && e.SHA == nil:
		files[e.Path] = file{mode: e.Mode, hash: s.put(plumbing.BlobObject, []byte(*e.Content))}
	case e.Content != nil || e.SHA == nil:
		return fail(http.StatusUnprocessableEntity, "Must supply either tree.sha or tree.content")
	case string(e.SHA) == "null":
		if _, exists := files[e.Path]; !exists {
			return fail(http.StatusUnprocessableEntity, "GitRPC::BadObjectState")
		}
		delete(files, e.Path)
	default:
		var sha string
		err := json.Unmarshal(e.SHA, &sha)
		h, valid := parseHash(sha)
		if _, missing := s.repo.BlobObject(h); err != nil || missing != nil || !valid {
			return fail(http.StatusUnprocessableEntity, "tree.sha %s is not a valid blob", sha)
		}
		files[e.Path] = file{mode: e.Mode, hash: h}
	}
	return nil
}

// tangled says whether a path is a file and a folder at once, which no tree can hold.
func tangled(files map[string]file) bool {
	for name := range files {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if _, isFile := files[dir]; isFile {
				return true
			}
		}
	}
	return false
}
