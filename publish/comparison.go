package publish

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

// File is a file of the repository at a commit.
type File struct {
	Path string
	Blob SHA
}

// Comparison is how a draft stands to the articles that the repository has.
type Comparison struct {
	Compared int      // articles that were compared with
	Unread   []string // paths of those that could not be read as articles
	SameSlug []string // paths of others that have the draft's slug in their front matter
	Alike    []Likeness
}

// Likeness is an article that a draft is too much like.
type Likeness struct {
	Path   string
	Title  string
	Copy   bool   // the draft says what it says; else a person has to look
	Why    string // in words
	Quotes []string
}

// Evidence is what was seen at a time, for the record.
func (c Comparison) Evidence(at time.Time) (all []Evidence) {
	for _, l := range c.Alike {
		saw := fmt.Sprintf("%s: %s", l.Title, l.Why)
		for _, q := range l.Quotes {
			saw += fmt.Sprintf("; “%s”", q)
		}
		all = append(all, Evidence{At: at, Look: l.Path, Saw: saw})
	}
	return all
}

// Question is the name of a question that a person is asked before anything is sent: an approval that names it answers
// that one, and no other.
func Question(about ...string) OperationKey {
	h := sha256.New()
	for _, a := range about {
		fmt.Fprintf(h, "%q:", a)
	}
	return OperationKey(hex.EncodeToString(h.Sum(nil)))
}
