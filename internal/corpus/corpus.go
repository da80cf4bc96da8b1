// Package corpus compares a draft with the articles that the repository has at a commit. Of each article a signature is
// kept by the name of its blob, so that a run reads only what is new.
package corpus

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"sync"

	"colophon/internal/article"
	"colophon/internal/similar"
	"colophon/publish"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Files are a repository's.
type Files interface {
	Files(ctx context.Context, commit publish.SHA) ([]publish.File, error)
	Blob(ctx context.Context, sha publish.SHA) ([]byte, error)
}

// Corpus is the articles of one repository.
type Corpus struct {
	files Files
	kept  *signatures
}

// New makes a corpus that keeps its signatures in a folder; in memory alone if that is empty.
func New(files Files, folder string) *Corpus {
	return &Corpus{files: files, kept: &signatures{folder: folder, known: map[publish.SHA]signature{}}}
}

// The limits of what is read: more articles than that are not compared with, and said so; larger files are no articles.
const (
	mostArticles = 10_000
	largest      = 1 << 20 // bytes
	readers      = 8       // blobs that are read side by side
)

// Compare compares the draft of an intent with the other articles of a commit: the files below the same top folder, with
// the same extension.
func (c *Corpus) Compare(ctx context.Context, in publish.Intent, commit publish.SHA, draft []byte) (publish.Comparison, error) {
	own, err := article.Parse(in.Draft, draft)
	if err != nil {
		return publish.Comparison{}, err
	}
	all, err := c.files.Files(ctx, commit)
	if err != nil {
		return publish.Comparison{}, err
	}
	others := slices.DeleteFunc(all, func(f publish.File) bool {
		return f.Path == in.Path || top(f.Path) != top(in.Path) || path.Ext(f.Path) != path.Ext(in.Path)
	})
	slices.SortFunc(others, func(a, b publish.File) int { return strings.Compare(a.Path, b.Path) })
	out := publish.Comparison{}
	for len(others) > mostArticles {
		out.Unread = append(out.Unread, others[len(others)-1].Path)
		others = others[:len(others)-1]
	}
	signed, err := c.sign(ctx, others)
	if err != nil {
		return publish.Comparison{}, err
	}
	var articles []similar.Article
	for n, s := range signed {
		if !s.Article {
			out.Unread = append(out.Unread, others[n].Path)
			continue
		}
		if fold(s.Slug) == fold(in.Slug) {
			out.SameSlug = append(out.SameSlug, others[n].Path)
		}
		articles = append(articles, similar.Article{ID: others[n].Path, Signature: s.Signature})
	}
	out.Compared = len(articles)
	for _, l := range similar.New(articles).Judge(text(own)).Closest {
		if l.Verdict != similar.Clear {
			out.Alike = append(out.Alike, publish.Likeness{Path: l.ID, Title: l.Title, Copy: l.Verdict == similar.Copy, Why: l.Why, Quotes: l.Quotes})
		}
	}
	return out, nil
}

// top is a path's first folder; empty for a file beside it.
func top(p string) string {
	dir, _, below := strings.Cut(p, "/")
	if !below {
		return ""
	}
	return dir
}

func fold(s string) string { return cases.Fold().String(norm.NFC.String(s)) }

func text(a article.Article) similar.Text {
	b := article.Text(a)
	return similar.Text{Title: a.Title, Series: a.Series, Headings: b.Headings(), Passages: b.Visible()}
}

// sign answers the files' signatures, in their order; what is not known is read, several at a time.
func (c *Corpus) sign(ctx context.Context, files []publish.File) ([]signature, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out := make([]signature, len(files))
	var mu sync.Mutex
	var first error
	turns := make(chan struct{}, readers)
	var all sync.WaitGroup
	for n, f := range files {
		var ok bool
		if out[n], ok = c.kept.get(f.Blob); ok {
			continue
		}
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			content, err := c.files.Blob(ctx, f.Blob)
			if err != nil {
				mu.Lock()
				defer mu.Unlock()
				if first == nil || errors.Is(first, context.Canceled) {
					first = err
				}
				cancel()
				return
			}
			out[n] = c.signed(f.Path, content)
			c.kept.put(f.Blob, out[n])
		})
	}
	all.Wait()
	return out, first
}

// signed signs one file.
func (c *Corpus) signed(name string, content []byte) signature {
	if len(content) > largest {
		return signature{}
	}
	a, err := article.Parse(name, content)
	if err != nil || a.Title == "" {
		return signature{}
	}
	return signature{Article: true, Slug: a.Slug, Signature: similar.Sign(text(a))}
}
