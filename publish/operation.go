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

// Update is the What of an operation that changes in place what an earlier revision made.
const Update = "update"

// Lane is what operations of many intents share where a remote wants its changes one at a time and spaced: a
// repository, an account.
type Lane struct {
	Name string        // what is shared; no lane if empty. For an account it is the operation's destination
	Gap  time.Duration // least time between the end of one change and the beginning of the next
	Cap  int           // attempts a day, of all operations together; 0 is no cap
	Zone string        // the time zone, as Europe/Berlin, in which a day begins; UTC if empty
	// Strict is set for accounts that are posted to: while one operation may have taken effect, no other is claimed,
	// and no text is claimed that the account was given before.
	Strict bool
}

// The conditions of a lane.
const (
	LaneBusy    Condition = "busy"               // another change is under way
	LaneGap     Condition = "gap"                // the last change was too short a time ago
	LaneCap     Condition = "daily_cap"          // the day's attempts are used up
	LaneLimited Condition = "rate_limited"       // the remote wants to be left alone
	LaneStopped Condition = "unresolved_attempt" // another operation may have taken effect
	SameText    Condition = "identical_text"     // the account was given this very text before
)

// BusyError refuses a claim because the operation's lane is taken, or closed for a while. Nothing was sent,
// and no attempt was made.
type BusyError struct {
	Lane  string
	Why   Condition     // one of the lane's conditions
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
	Condition  Condition    `json:"condition"`  // why the last attempt did not succeed, where it did not
}

// Approval lets one numbered attempt be followed by the next. It names the attempt, so that using it
// twice, or late, changes nothing.
type Approval struct {
	Operation OperationKey `json:"operation"`
	Attempt   int          `json:"attempt"` // the attempt that may be followed by another; 0 before the first
	By        string       `json:"by"`      // a person, or Rule
	Reason    string       `json:"reason"`
	Evidence  []Evidence   `json:"evidence,omitempty"`
}

// Rule is who approves what the policy allows by itself.
const Rule = "rule"

// ByPerson says that somebody decided.
func (a *Approval) ByPerson() bool { return a != nil && a.By != Rule }

// Attempted is how one attempt ended, as the ledger resolved it.
type Attempted struct {
	State     AttemptState
	Number    int
	Deferrals int // attempts, this one included, that the remote put off
	Receipt   Receipt
	Trouble   *Trouble // nil when Done
}
