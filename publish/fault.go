package publish

import "fmt"

// Fault is something that is wrong with a draft.
type Fault struct {
	Line   int // in the draft, from 1; 0 if the whole of it is meant
	Rule   string
	Detail string
}

// In says where the fault is, in a file.
func (f Fault) In(file string) string {
	if f.Line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, f.Line)
}
