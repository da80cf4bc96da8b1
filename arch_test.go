// Package colophon_test holds the rules of the house: which package may know which, and where a change
// to a remote system may come from. Each rule says why in its failure.
package colophon_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// source is one non-test Go file, or a test file where tests is set.
type source struct {
	path    string // from the module's root, with slashes
	pkg     string // its folder
	imports []string
	tree    *ast.File
	fset    *token.FileSet
}

func sources(t *testing.T, tests bool) []source {
	t.Helper()
	var out []source
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && p != "." || d.Name() == "testdata" || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") != tests {
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, p, nil, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			return err
		}
		s := source{path: filepath.ToSlash(p), pkg: filepath.ToSlash(filepath.Dir(p)), tree: f, fset: fset}
		for _, i := range f.Imports {
			name, _ := strconv.Unquote(i.Path.Value)
			s.imports = append(s.imports, name)
		}
		out = append(out, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func within(pkg, folder string) bool { return pkg == folder || strings.HasPrefix(pkg, folder+"/") }

func isStd(path string) bool {
	return !strings.Contains(strings.SplitN(path, "/", 2)[0], ".") && !within(path, "colophon")
}

// TestLayers checks who may import whom.
func TestLayers(t *testing.T) {
	impure := []string{"net", "net/http", "os", "os/exec", "io/fs", "database/sql", "math/rand", "math/rand/v2", "crypto/rand", "log", "log/slog", "syscall", "path/filepath", "sync"}
	rules := []struct {
		from    string // the package the rule is for, with what lies below it
		but     string // folders below it that are left out
		allowed func(string) bool
		why     string
	}{
		{"publish", "publish/effecttest", func(p string) bool {
			for _, bad := range impure {
				if p == bad {
					return false
				}
			}
			return isStd(p) || within(p, "colophon/publish")
		}, "publish decides from values alone: no I/O, no clock, no libraries"},
		{"workflows", "", func(p string) bool {
			return isStd(p) && p != "net/http" && p != "database/sql" && p != "os" || p == "colophon/publish" ||
				within(p, "go.temporal.io/sdk") || within(p, "go.temporal.io/api")
		}, "workflow code must be deterministic: it knows the nouns and Temporal, and activities by name only"},
		{"activities", "", func(p string) bool {
			return isStd(p) && p != "net/http" && p != "database/sql" || p == "colophon/publish" || p == "colophon/internal/article" ||
				within(p, "go.temporal.io/sdk")
		}, "activities work through the interfaces they declare, so that every adapter can be exchanged and tested alone"},
		{"internal/github", "", func(p string) bool {
			return isStd(p) && p != "database/sql" || p == "colophon/publish" || strings.HasPrefix(p, "github.com/google/go-github/") || within(p, "golang.org/x/text")
		}, "an adapter knows the nouns and its vendor's library, not its siblings, the ledger or Temporal"},
		{"internal/channel", "internal/channel/channeltest", func(p string) bool {
			return !within(p, "colophon") && !within(p, "go.temporal.io") && p != "database/sql" || p == "colophon/publish" || p == "colophon/internal/channel"
		}, "a channel knows the nouns and the shared contract, not its siblings, the ledger or Temporal"},
		{"internal/site", "", func(p string) bool {
			return !within(p, "colophon") && !within(p, "go.temporal.io") && p != "database/sql" || p == "colophon/publish"
		}, "an adapter knows the nouns, not its siblings, the ledger or Temporal"},
		{"internal/ledger", "internal/ledger/ledgertest", func(p string) bool {
			return !within(p, "colophon") && !within(p, "go.temporal.io") || p == "colophon/publish" || p == "colophon/internal/permit"
		}, "the ledger outlives Temporal and knows nothing of it, nor of the remotes"},
		{
			"internal/sandbox", "", func(p string) bool { return !within(p, "colophon") || within(p, "colophon/internal/sandbox") },
			"the sandbox imports nothing of ours, so that it cannot share our bugs",
		},
	}
	for _, s := range sources(t, false) {
		for _, r := range rules {
			if !within(s.pkg, r.from) || r.but != "" && within(s.pkg, r.but) {
				continue
			}
			for _, i := range s.imports {
				if !r.allowed(i) {
					t.Errorf("%s imports %q: %s", s.path, i, r.why)
				}
			}
			if within(s.pkg, "internal/channel") {
				siblings(t, s)
			}
		}
		for _, i := range s.imports {
			if strings.HasPrefix(i, "github.com/google/go-github/") && !within(s.pkg, "internal/github") {
				t.Errorf("%s imports %q: only internal/github talks to GitHub", s.path, i)
			}
			if helper := strings.HasSuffix(i, "test") && within(i, "colophon"); helper && !strings.HasSuffix(s.pkg, "test") {
				t.Errorf("%s imports %q: test helpers never reach a production binary", s.path, i)
			}
		}
	}
}

func siblings(t *testing.T, s source) {
	for _, i := range s.imports {
		rest, ok := strings.CutPrefix(i, "colophon/internal/channel/")
		if ok && !within(s.pkg, "internal/channel/"+strings.SplitN(rest, "/", 2)[0]) && !within(s.pkg, "internal/channel/channeltest") {
			t.Errorf("%s imports %q: channels never know each other", s.path, i)
		}
	}
}

// TestOneDoor checks that a change to a remote system can only come through the ledger: clients are made
// in one place, where a mutation needs a permit, and permits are granted in one place, the ledger.
func TestOneDoor(t *testing.T) {
	outside := func(s source) bool {
		return within(s.pkg, "internal/sandbox") || strings.HasSuffix(s.pkg, "test")
	}
	for _, s := range sources(t, false) {
		if outside(s) {
			continue
		}
		ast.Inspect(s.tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				pkg, ok := n.X.(*ast.Ident)
				if !ok {
					return true
				}
				at := s.fset.Position(n.Pos())
				switch name := pkg.Name + "." + n.Sel.Name; name {
				case "permit.Grant":
					if s.pkg != "internal/ledger" {
						t.Errorf("%s: %s: only the ledger grants permits, after the attempt is durable", at, name)
					}
				case "http.DefaultClient", "http.DefaultTransport", "http.Post", "http.PostForm", "http.Get", "http.Head", "http.Transport":
					if s.pkg != "internal/wire" {
						t.Errorf("%s: %s: clients come from internal/wire, where a change needs a permit", at, name)
					}
				}
			case *ast.CompositeLit:
				if sel, ok := n.Type.(*ast.SelectorExpr); ok {
					if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "http" && sel.Sel.Name == "Client" && s.pkg != "internal/wire" {
						t.Errorf("%s: http.Client: clients come from internal/wire, where a change needs a permit", s.fset.Position(n.Pos()))
					}
				}
			}
			return true
		})
	}
}

// TestWorkflowsReachNothingImpure checks what workflow code links, not only what it names.
func TestWorkflowsReachNothingImpure(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "./workflows").CombinedOutput()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, out)
	}
	for _, p := range strings.Fields(string(out)) {
		if strings.HasPrefix(p, "github.com/google/go-github/") || p == "database/sql" || within(p, "colophon") && p != "colophon/publish" && p != "colophon/workflows" {
			t.Errorf("workflows reaches %s: workflow code must be deterministic and small", p)
		}
	}
}

// TestEveryPackageSaysWhatItIs checks that every package has a comment.
func TestEveryPackageSaysWhatItIs(t *testing.T) {
	said := map[string]bool{}
	for _, s := range sources(t, false) {
		said[s.pkg] = said[s.pkg] || s.tree.Doc != nil && len(s.tree.Doc.Text()) > 40
	}
	for pkg, ok := range said {
		if !ok {
			t.Errorf("package %s has no comment that says what it holds", pkg)
		}
	}
}
