// Package strictyaml reads YAML that people write: unknown keys are errors, and every error says the line.
package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Error is a fault in a file.
type Error struct {
	File string
	Line int // from 1
	What string
}

func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.What) }

// Document is a file that has been read, and knows where everything stands in it.
type Document struct {
	name string
	file *ast.File
	errs []error
}

// Decode reads source into v, a pointer to a struct. Name is the file's, for errors.
func Decode(name string, source []byte, v any) (*Document, error) {
	file, err := parser.ParseBytes(source, 0)
	if err != nil {
		return nil, explain(name, err)
	}
	d := &Document{name: name, file: file}
	err = yaml.NewDecoder(bytes.NewReader(source), yaml.Strict()).Decode(v)
	if errors.Is(err, io.EOF) {
		return nil, &Error{File: name, Line: 1, What: "is empty"}
	}
	if err != nil {
		return nil, explain(name, err)
	}
	return d, nil
}

func explain(name string, err error) error {
	var y yaml.Error
	if errors.As(err, &y) && y.GetToken() != nil {
		return &Error{File: name, Line: y.GetToken().Position.Line, What: y.GetMessage()}
	}
	return &Error{File: name, Line: 1, What: strings.Join(strings.Fields(err.Error()), " ")}
}

// Wrong notes a fault of the value at path, such as "$.entries[2].slug". Where nothing stands at the path
// the line is that of what should hold it.
func (d *Document) Wrong(path, format string, args ...any) {
	d.errs = append(d.errs, &Error{File: d.name, Line: d.Line(path), What: fmt.Sprintf("%s: %s", strings.TrimPrefix(path, "$."), fmt.Sprintf(format, args...))})
}

// Err is everything that was noted, or nil.
func (d *Document) Err() error { return errors.Join(d.errs...) }

// Line is where the value at path stands.
func (d *Document) Line(path string) int {
	for path != "$" && path != "" {
		if p, err := yaml.PathString(path); err == nil {
			if n, err := p.FilterFile(d.file); err == nil && n.GetToken() != nil {
				return first(n)
			}
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return 1
}

// first is the line on which a node begins: a mapping's is that of its first key.
func first(n ast.Node) int {
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 {
		return m.Values[0].Key.GetToken().Position.Line
	}
	if m, ok := n.(*ast.MappingValueNode); ok {
		return m.Key.GetToken().Position.Line
	}
	return n.GetToken().Position.Line
}
