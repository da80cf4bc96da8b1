package corpus

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"colophon/internal/github"
	"colophon/publish"
)

// repository holds files, and counts what is read of them.
type repository struct {
	files map[string]string
	fail  error

	mu   sync.Mutex
	read int
}

func (r *repository) Files(context.Context, publish.SHA) (out []publish.File, err error) {
	for name, content := range r.files {
		out = append(out, publish.File{Path: name, Blob: github.BlobSHA([]byte(content))})
	}
	return out, nil
}

func (r *repository) Blob(_ context.Context, sha publish.SHA) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read++
	if r.fail != nil {
		return nil, r.fail
	}
	for _, content := range r.files {
		if github.BlobSHA([]byte(content)) == sha {
			return []byte(content), nil
		}
	}
	return nil, errors.New("no such blob")
}

// post is an article; each has words of its own.
func post(slug string) string {
	return fmt.Sprintf("---\ntitle: On %[1]s\nslug: %[1]s\n---\n\nThe %[1]s of the morning met %[1]sling and %[1]sburg, and the word of %[1]s was kept about %[1]sdom for a year.\n", slug)
}

var in = publish.Intent{Slug: "walrus", Path: "posts/walrus.md", Draft: "drafts/walrus.md", Revision: 1}

func compare(t *testing.T, c *Corpus, draft string) publish.Comparison {
	t.Helper()
	out, err := c.Compare(context.Background(), in, "", []byte(draft))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func blog(n int) *repository {
	r := &repository{files: map[string]string{
		"README.md": post("readme"), "posts/notes.txt": post("notes"), "themes/x.md": post("theme"),
		"posts/walrus.md": post("walrus"), // what is corrected is not what is compared with
	}}
	for i := range n {
		r.files[fmt.Sprintf("posts/2026/%d.md", i)] = post(fmt.Sprintf("q%da", i))
	}
	return r
}

// TestARunReadsOnlyWhatIsNew: from run to run, and from one process to the next.
func TestARunReadsOnlyWhatIsNew(t *testing.T) {
	r, dir := blog(30), t.TempDir()
	reads := func() int { n := r.read; r.read = 0; return n }
	c := New(r, dir)
	if got := compare(t, c, post("walrus")); got.Compared != 30 || len(got.Alike)+len(got.SameSlug)+len(got.Unread) != 0 || reads() != 30 {
		t.Fatalf("%+v", got)
	}
	r.files["posts/new.md"] = post("newcomer")
	r.files["posts/2026/3.md"] = post("changed")
	if got := compare(t, c, post("walrus")); got.Compared != 31 || reads() != 2 {
		t.Errorf("%+v", got)
	}
	if got := compare(t, New(r, dir), post("walrus")); got.Compared != 31 || reads() != 0 {
		t.Errorf("another process: %+v", got)
	}
	// What is spoilt is made again; where nothing can be kept, everything is read.
	spoilt := 0
	must(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if spoilt++; spoilt <= 5 {
				return os.WriteFile(p, []byte(`{"article": tru`), 0o600)
			}
		}
		return err
	}))
	if got := compare(t, New(r, dir), post("walrus")); got.Compared != 31 || reads() != 5 {
		t.Errorf("spoilt: %+v", got)
	}
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	if got := compare(t, New(r, file), post("walrus")); got.Compared != 31 || reads() != 31 {
		t.Errorf("no folder: %+v", got)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestASlugInFrontMatterIsTaken(t *testing.T) {
	r := blog(2)
	r.files["posts/elsewhere.md"] = strings.Replace(post("sea"), "slug: sea", "slug: WALRUS", 1)
	if got := compare(t, New(r, ""), post("walrus")); !slices.Equal(got.SameSlug, []string{"posts/elsewhere.md"}) {
		t.Errorf("%+v", got)
	}
}

func TestACopyIsFoundAndQuoted(t *testing.T) {
	r := blog(2)
	r.files["posts/sea.md"] = post("sea")
	got := compare(t, New(r, ""), strings.NewReplacer("title: On sea", "title: Something new", "slug: sea", "slug: walrus").Replace(post("sea")))
	if len(got.Alike) != 1 || !got.Alike[0].Copy || got.Alike[0].Path != "posts/sea.md" || len(got.Alike[0].Quotes) == 0 {
		t.Fatalf("%+v", got)
	}
}

// TestWhatIsNoArticleIsLeftOutByName, and what cannot be read is an error: it may be what the draft is like.
func TestWhatIsNoArticleIsLeftOutByName(t *testing.T) {
	r := blog(2)
	r.files["posts/broken.md"], r.files["posts/large.md"] = "no front matter", post("large")+strings.Repeat("x", largest)
	if got := compare(t, New(r, ""), post("walrus")); got.Compared != 2 || !slices.Equal(got.Unread, []string{"posts/broken.md", "posts/large.md"}) {
		t.Errorf("%+v", got)
	}
	r.fail = errors.New("502")
	if _, err := New(r, "").Compare(context.Background(), in, "", []byte(post("walrus"))); !errors.Is(err, r.fail) {
		t.Errorf("%v", err)
	}
}
