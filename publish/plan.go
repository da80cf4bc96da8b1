package publish

import (
	"fmt"
	"strings"
	"time"
)

// Digest is the SHA-256 of an artifact in hexadecimal: how history refers to a text.
type Digest string

// Plan is what is fixed about an intent's change before the first request is sent. The first plan
// that is made is kept in the ledger and used by every later run of the same intent.
type Plan struct {
	Draft  Digest `json:"draft,omitempty"`
	Title  string `json:"title,omitempty"`
	Branch string `json:"branch,omitempty"`

	Parent SHA `json:"parent,omitempty"` // tip of the base branch when it was first observed
	Base   SHA `json:"base,omitempty"`   // the parent's tree
	Blob   SHA `json:"blob,omitempty"`   // the article
	Tree   SHA `json:"tree,omitempty"`   // the parent's tree with the article in it
	Commit SHA `json:"commit,omitempty"` // known before anything is sent

	PullRequest int `json:"pull_request,omitempty"` // its number, once it is open

	Author Author `json:"author"`
}

// Author is who the commit is by, and when: fixed, so that the commit's SHA is.
type Author struct {
	Name  string    `json:"name,omitempty"`
	Email string    `json:"email,omitempty"`
	Date  time.Time `json:"date,omitzero"` // whole seconds, UTC
}

// CommitMessage is the message of the article's commit, trailers included.
func (i Intent) CommitMessage(p Plan) string {
	return fmt.Sprintf("Publish %s\n\n%s\n%s", p.Title, i.Topic, i.trailers())
}

// MergeTitle is the first line of the merge commit.
func (i Intent) MergeTitle(p Plan) string { return "Merge " + p.Title }

// MergeMessage is the body of the merge commit: the trailers that identify the intent.
func (i Intent) MergeMessage() string { return strings.TrimPrefix(i.trailers(), "\n") }

func (i Intent) trailers() string {
	return fmt.Sprintf("\n%s%s\n%s%s", keyTrailer, i.mark(), fingerprintTrailer, i.Fingerprint())
}

const (
	keyTrailer         = "Colophon-Key: "
	fingerprintTrailer = "Colophon-Fingerprint: "
)

// mark is the key, and the revision where it is not the first.
func (i Intent) mark() string {
	if i.Revision > 1 {
		return fmt.Sprintf("%s r%d", i.Key, i.Revision)
	}
	return string(i.Key)
}

// PullRequestBody describes the change to a reviewer and carries the marker that identifies it.
func (i Intent) PullRequestBody(p Plan) string {
	return fmt.Sprintf("Publishes **%s** at %s.\n\n- Topic: %s\n- Date: %s\n- File: `%s`\n- Commit: `%s`\n\n%s\n",
		mdText(p.Title), i.URL, mdText(i.Topic), i.Date, i.Path, p.Commit, i.Marker())
}

// Marker is the line in a pull request's body that says which intent, and which inputs, it is for.
func (i Intent) Marker() string {
	return fmt.Sprintf("<!-- colophon key=%s fingerprint=%s -->", strings.ReplaceAll(i.mark(), " ", "+"), i.Fingerprint())
}

// HasMarker says whether a pull request's body is this intent's.
func (i Intent) HasMarker(body string) bool { return strings.Contains(body, i.Marker()) }

// HasTrailers says whether a commit's message is this intent's.
func (i Intent) HasTrailers(message string) bool {
	var key, print bool
	for line := range strings.Lines(message) {
		line = strings.TrimRight(line, "\r\n")
		key = key || line == keyTrailer+i.mark()
		print = print || line == fingerprintTrailer+string(i.Fingerprint())
	}
	return key && print
}
