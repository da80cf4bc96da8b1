package corpus

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"colophon/internal/similar"
	"colophon/publish"
)

// signature is what is kept of a file.
type signature struct {
	Article bool   `json:"article"` // it was read as one
	Slug    string `json:"slug,omitempty"`
	similar.Signature
}

// signatures are kept in memory, and in a folder from one process to the next. They can be made again at any time: what
// cannot be written or read is no error.
type signatures struct {
	folder string

	mu    sync.Mutex
	known map[publish.SHA]signature
}

func (s *signatures) file(sha publish.SHA) string {
	return filepath.Join(s.folder, "signatures-"+strconv.Itoa(similar.Version), string(sha[:2]), string(sha[2:])+".json")
}

func (s *signatures) get(sha publish.SHA) (g signature, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g, ok = s.known[sha]; ok || s.folder == "" || !sha.Valid() {
		return g, ok
	}
	raw, err := os.ReadFile(s.file(sha))
	if err != nil || json.Unmarshal(raw, &g) != nil {
		return signature{}, false
	}
	s.known[sha] = g
	return g, true
}

func (s *signatures) put(sha publish.SHA, g signature) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[sha] = g
	if s.folder == "" || !sha.Valid() {
		return
	}
	name := s.file(sha)
	raw, err := json.Marshal(g)
	if err != nil || os.MkdirAll(filepath.Dir(name), 0o700) != nil {
		return
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".new-")
	if err != nil {
		return
	}
	_, err = f.Write(raw)
	if f.Close() != nil || err != nil || os.Rename(f.Name(), name) != nil {
		_ = os.Remove(f.Name())
	}
}
