package article

import (
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// Blocks is an article's text in reading order.
type Blocks struct {
	visible  []string
	headings []string
}

// Visible are the paragraphs, headings, list items and quotes, a passage each, without marks. Code and
// tables are left out: sites dress them too differently to be compared.
func (b Blocks) Visible() []string { return b.visible }

// Headings are those of the visible passages that are headings.
func (b Blocks) Headings() []string { return b.headings }

// Text reads an article's passages from its Markdown (CommonMark with GitHub's extensions).
func Text(a Article) Blocks {
	source := []byte(a.Body)
	doc := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(source))
	var out Blocks
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n.Kind() {
		case ast.KindParagraph, ast.KindHeading, ast.KindTextBlock:
			if s := strings.TrimSpace(inline(n, source)); s != "" {
				out.visible = append(out.visible, s)
				if n.Kind() == ast.KindHeading {
					out.headings = append(out.headings, s)
				}
			}
			return ast.WalkSkipChildren, nil
		}
		if n.Type() == ast.TypeBlock && n.Kind().String() == "Table" {
			return ast.WalkSkipChildren, nil
		}
		return ast.WalkContinue, nil
	})
	return out
}

// inline gathers the text of a block, without raw HTML, images and footnote marks.
func inline(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(c ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch c := c.(type) {
		case *ast.Text:
			b.Write(c.Segment.Value(source))
			if c.SoftLineBreak() || c.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(c.Value)
		case *ast.AutoLink:
			b.Write(c.Label(source))
		case *ast.Image, *ast.RawHTML:
			return ast.WalkSkipChildren, nil
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}
