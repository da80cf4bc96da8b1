package github

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // Git's object names are SHA-1
	"encoding/hex"
	"fmt"
	"path"
	"sort"
	"strings"

	"colophon/publish"
)

// name is the SHA-1 of a Git object: "kind size NUL content".
func name(kind string, content []byte) publish.SHA {
	h := sha1.New() //nolint:gosec // see above
	fmt.Fprintf(h, "%s %d\x00", kind, len(content))
	h.Write(content)
	return publish.SHA(hex.EncodeToString(h.Sum(nil)))
}

// BlobSHA is the name that Git gives a file with this content.
func BlobSHA(content []byte) publish.SHA { return name("blob", content) }

// entry is one line of a tree object.
type entry struct {
	Mode string // "100644", "40000" for a directory
	Name string
	SHA  publish.SHA
}

const dirMode = "40000"

// treeSHA is the name of a tree with these entries, in Git's order: by name, directories as if they
// ended in a slash.
func treeSHA(entries []entry) (publish.SHA, error) {
	key := func(e entry) string {
		if e.Mode == dirMode {
			return e.Name + "/"
		}
		return e.Name
	}
	sorted := append([]entry(nil), entries...)
	sort.Slice(sorted, func(i, j int) bool { return key(sorted[i]) < key(sorted[j]) })
	var b bytes.Buffer
	for _, e := range sorted {
		raw, err := hex.DecodeString(string(e.SHA))
		if err != nil || !e.SHA.Valid() {
			return "", fmt.Errorf("tree entry %q has no valid SHA", e.Name)
		}
		fmt.Fprintf(&b, "%s %s\x00", e.Mode, e.Name)
		b.Write(raw)
	}
	return name("tree", b.Bytes()), nil
}

// commitSHA is the name of a plain, unsigned commit by one person, with one parent.
func commitSHA(tree, parent publish.SHA, a publish.Author, message string) publish.SHA {
	who := fmt.Sprintf("%s <%s> %d +0000", a.Name, a.Email, a.Date.Unix())
	return name("commit", fmt.Appendf(nil, "tree %s\nparent %s\nauthor %s\ncommitter %s\n\n%s", tree, parent, who, who, message))
}

// listing is a whole repository tree: the entries of each directory, "" being the root.
type listing map[string][]entry

// root is the name of the listing's root tree.
func (l listing) root() (publish.SHA, error) { return treeSHA(l[""]) }

// with returns the name of the root tree after the file at p has become blob, leaving l alone.
func (l listing) with(p string, blob publish.SHA) (publish.SHA, error) {
	e := entry{Mode: "100644", Name: path.Base(p), SHA: blob}
	for dir := parent(p); ; dir = parent(dir) {
		sha, err := treeSHA(replace(l[dir], e))
		if err != nil || dir == "" {
			return sha, err
		}
		e = entry{Mode: dirMode, Name: path.Base(dir), SHA: sha}
	}
}

func replace(entries []entry, e entry) []entry {
	out := []entry{e}
	for _, old := range entries {
		if old.Name != e.Name {
			out = append(out, old)
		}
	}
	return out
}

// parent is the directory of a path in the repository, "" for the root.
func parent(p string) string {
	if i := strings.LastIndexByte(p, '/'); i >= 0 {
		return p[:i]
	}
	return ""
}
