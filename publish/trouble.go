package publish

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Kind says what a Trouble proves about the remote.
type Kind string

// The kinds. Only the first three prove that nothing changed: everything that is not on that list is
// Unknown.
const (
	NotSent  Kind = "not_sent" // the request never left
	Deferred Kind = "deferred" // the remote did nothing and wants to be asked again later: a rate limit, a check that is outstanding
	Rejected Kind = "rejected" // parsed, definite refusal
	Halted   Kind = "halted"   // a named condition, seen before or instead of a change, needs a person
	Unknown  Kind = "unknown"  // may have taken effect
)

// Condition names why something is blocked, in the words that an operator searches for.
type Condition string

// Trouble is why an Apply or a Find did not succeed.
type Trouble struct {
	Kind      Kind
	Condition Condition
	Detail    string        // what happened, free of secrets
	Next      string        // what to do about it
	Status    int           // HTTP status, where there was one
	After     time.Duration // do not try again before this has passed
	Err       error
}

func (t *Trouble) Error() string {
	s := Clip(t.Detail)
	if t.Status != 0 {
		s = fmt.Sprintf("%s (HTTP %d)", s, t.Status)
	}
	if t.Err != nil {
		s = fmt.Sprintf("%s: %s", s, Clip(t.Err.Error()))
	}
	return s
}

// maxSaid is how much of what a remote says is repeated, in bytes.
const maxSaid = 500

// Clip cuts short what a remote says: it goes into histories and onto pages.
func Clip(s string) string {
	if len(s) <= maxSaid {
		return s
	}
	return strings.ToValidUTF8(s[:maxSaid], "") + "…"
}

func (t *Trouble) Unwrap() error { return t.Err }

// AsTrouble reads what an error proves. Anything but a *Trouble proves nothing: Unknown.
func AsTrouble(err error) *Trouble {
	if t, ok := errors.AsType[*Trouble](err); ok {
		return t
	}
	return &Trouble{Kind: Unknown, Condition: "unexplained", Detail: "no trustworthy answer", Err: WithoutURL(err)}
}

// WithoutURL drops the layer that net/http puts around an error, which repeats the whole URL.
func WithoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// State is where the ledger puts an attempt that ended with this trouble.
func (t *Trouble) State() AttemptState {
	switch t.Kind {
	case NotSent, Deferred:
		return NotPerformed
	case Rejected, Halted:
		return Failed
	default:
		return Unconfirmed
	}
}
