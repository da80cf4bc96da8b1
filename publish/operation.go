package publish

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

// OperationKey names one change to one remote system: sha256(destination:contentId:revision) in
// hexadecimal. It outlives every process, run and attempt.
type OperationKey string

// Operation is one change to one remote system for one intent.
type Operation struct {
	What        string `json:"what"` // in a word or two, for people: "merge", "post"
	Intent      Key    `json:"intent"`
	Destination string `json:"destination"` // the remote thing, and the account on it, that is changed
	ContentID   string `json:"content_id"`
	Revision    int    `json:"revision"`
	Channel     string `json:"channel,omitempty"` // set for deliveries
	Account     string `json:"account,omitempty"` // as the server itself names it
	Text        string `json:"text,omitempty"`    // SHA-256 of the exact bytes to be published
	Lane        Lane   `json:"-"`
}

// Lane is what operations of many intents share where a remote wants its changes one at a time and spaced.
// It is etiquette and no safeguard: what keeps an operation from being done twice is its claim.
type Lane struct {
	Name string        // what is shared: a repository, an account; no lane if empty
	Gap  time.Duration // least time between the end of one change and the beginning of the next
}

// BusyError refuses a claim because the operation's lane is taken, or closed for a while. Nothing was sent,
// and no attempt was made.
type BusyError struct {
	Lane  string
	By    string        // what holds the lane, or why it is closed
	After time.Duration // when to try again
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("%s is busy: %s", e.Lane, e.By)
}

// Key derives the operation's name from destination, content and revision alone.
func (o Operation) Key() OperationKey {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s:%s:%d", o.Destination, o.ContentID, o.Revision))
	return OperationKey(hex.EncodeToString(sum[:]))
}

// AttemptState is where an operation stands in the ledger.
type AttemptState string

// The states of an operation. InFlight is also what a killed process leaves behind.
const (
	NotAttempted AttemptState = ""
	InFlight     AttemptState = "in_flight"
	Done         AttemptState = "done"
	Failed       AttemptState = "failed"        // definitively rejected
	NotPerformed AttemptState = "not_performed" // provably never took effect
	Unconfirmed  AttemptState = "not_confirmed"
)

// Unsettled says that the operation may have taken effect.
func (s AttemptState) Unsettled() bool { return s == InFlight || s == Unconfirmed }

// Prior is what the ledger knows about an operation before a look or an attempt.
type Prior struct {
	State      AttemptState `json:"state"`
	Attempts   int          `json:"attempts"`   // made so far
	Rejections int          `json:"rejections"` // of them, definitively refused
	Deferrals  int          `json:"deferrals"`  // of them, put off by the remote
	First      time.Time    `json:"first"`      // when the first attempt began
	Last       time.Time    `json:"last"`       // when the last attempt began
	Receipt    Receipt      `json:"receipt"`    // when done
}

// Approval lets one numbered attempt be followed by the next. It names the attempt, so that using it
// twice, or late, changes nothing.
type Approval struct {
	Operation OperationKey `json:"operation"`
	Attempt   int          `json:"attempt"` // the attempt that may be followed by another; 0 before the first
	By        string       `json:"by"`      // a person, or "rule"
	Reason    string       `json:"reason"`
	Evidence  []Evidence   `json:"evidence,omitempty"`
}

// Attempted is how one attempt ended, as the ledger resolved it.
type Attempted struct {
	State     AttemptState
	Number    int
	Deferrals int // attempts, this one included, that the remote put off
	Receipt   Receipt
	Trouble   *Trouble // nil when Done
}
