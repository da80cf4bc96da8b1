package github

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"path"
	"strings"

	"colophon/publish"
)

// Files lists the files of a commit.
func (r *Repository) Files(ctx context.Context, commit publish.SHA) ([]publish.File, error) {
	l, err := r.list(ctx, commit)
	if err != nil {
		return nil, err
	}
	var out []publish.File
	for dir, entries := range l {
		for _, e := range entries {
			if e.Mode == "100644" || e.Mode == "100755" {
				out = append(out, publish.File{Path: path.Join(dir, e.Name), Blob: e.SHA})
			}
		}
	}
	return out, nil
}

// Blob reads a file's content. What was read is proven by its name.
func (r *Repository) Blob(ctx context.Context, sha publish.SHA) ([]byte, error) {
	b, _, err := r.client.Git.GetBlob(ctx, r.owner, r.name, string(sha))
	if err != nil {
		return nil, read("blob "+sha.Short(), err)
	}
	content, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(b.GetContent(), "\n", ""))
	if b.GetEncoding() != "base64" {
		err = errors.New("its encoding is not base64")
	}
	if err != nil {
		return nil, fmt.Errorf("read blob %s: %w", sha.Short(), err)
	}
	if got := BlobSHA(content); got != sha {
		return nil, fmt.Errorf("read blob %s: the answer makes %s", sha.Short(), got.Short())
	}
	return content, nil
}

// listed remembers the listings of the last few commits, which never change.
func (r *Repository) listed(commit publish.SHA) (listing, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l, ok := r.listings[commit]
	return l, ok
}

func (r *Repository) remember(commit publish.SHA, l listing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.listings) >= 4 {
		clear(r.listings)
	}
	r.listings[commit] = l
}
