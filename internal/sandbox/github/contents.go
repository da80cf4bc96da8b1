package github

import (
	"encoding/base64"
	"net/http"
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/object"
)

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
	name := strings.TrimSuffix(req.PathValue("path"), "/")
	if f, err := t.File(name); err == nil {
		text, err := f.Contents()
		if err != nil {
			return nil, fail(http.StatusInternalServerError, "%v", err)
		}
		body := s.contentBody(rev, name, "file", f.Hash.String(), len(text))
		body["encoding"], body["content"] = "base64", wrapped([]byte(text))
		return ok(body), nil
	}
	if name != "" {
		sub, err := t.Tree(name)
		if err != nil {
			return nil, fail(http.StatusNotFound, "Not Found")
		}
		t = sub
	}
	return ok(s.folder(rev, name, t)), nil
}

// folder lists what is directly in a folder.
func (s *Server) folder(rev, name string, t *object.Tree) []any {
	all := []any{}
	for _, e := range t.Entries {
		kind, size := "dir", 0
		if b, err := s.repo.BlobObject(e.Hash); err == nil {
			kind, size = "file", int(b.Size)
		}
		all = append(all, s.contentBody(rev, path.Join(name, e.Name), kind, e.Hash.String(), size))
	}
	return all
}

func (s *Server) contentBody(rev, name, kind, sha string, size int) map[string]any {
	object, page := "blobs", "blob"
	if kind == "dir" {
		object, page = "trees", "tree"
	}
	self, git, html := s.api("contents/%s?ref=%s", name, rev), s.api("git/%s/%s", object, sha), s.page("%s/%s/%s", page, rev, name)
	return map[string]any{
		"type": kind, "size": size, "name": path.Base(name), "path": name, "sha": sha, "url": self, "git_url": git, "html_url": html,
		"download_url": nil, "_links": map[string]any{"self": self, "git": git, "html": html},
	}
}

// wrapped is base64 as GitHub sends it: in lines of 60 characters, each with its end.
func wrapped(content []byte) string {
	var b strings.Builder
	for text := base64.StdEncoding.EncodeToString(content); text != ""; {
		n := min(60, len(text))
		b.WriteString(text[:n] + "\n")
		text = text[n:]
	}
	return b.String()
}
