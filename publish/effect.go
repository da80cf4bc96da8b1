package publish

import (
	"context"
	"time"
)

// Class says how an effect may be repeated.
type Class string

// The classes, from the most to the least forgiving.
const (
	ReadOnly   Class = "read-only"  // changes nothing: repeat with back-off
	Idempotent Class = "idempotent" // repeating leaves the same state: repeat with the same key
	Reconciled Class = "reconciled" // look at the authoritative system before any repeat
	Unclear    Class = "unclear"    // cannot be looked for: never repeated without a person
)

// Traits are what an effect declares about itself.
type Traits struct {
	Class Class
	// LookFirst asks for a Find before the very first attempt. Git steps look, because a branch of that
	// name may exist; channels do not, because the read costs money or quota and the ledger knows.
	LookFirst bool
	// LookAfter asks for a Find after an Apply that reported success.
	LookAfter bool
	// Settle is how long the remote may take to show what it did; zero means the policy's quiet period.
	Settle time.Duration
}

// Effect is how one operation is looked for and done. Every effect passes the suite in effecttest.
type Effect interface {
	// Operation names what is changed.
	Operation() Operation
	// Traits declares how the effect may be repeated.
	Traits() Traits
	// Find looks at the authoritative system, and only reads. A read that fails is an error; what it
	// proves about the effect is nothing.
	Find(ctx context.Context, prior Prior) (Finding, error)
	// Apply sends at most one request that changes something. Its error is a *Trouble, or means that the
	// outcome is not known.
	Apply(ctx context.Context, prior Prior) (Receipt, error)
}

// Presence is what a look saw of an effect.
type Presence string

// The closed list of what a look can see.
const (
	Present    Presence = "present"    // it is there, and ours
	Absent     Presence = "absent"     // the whole of the place was read, and it is not there
	Foreign    Presence = "foreign"    // something is there that is not ours
	Several    Presence = "several"    // more than one candidate
	Incomplete Presence = "incomplete" // the place could not be read whole
	NotReady   Presence = "not_ready"  // absent, and the remote is not ready for it yet
)

// Finding is the result of a look.
type Finding struct {
	Presence  Presence      `json:"presence"`
	Condition Condition     `json:"condition,omitempty"` // names why it is blocked or what is waited for
	Detail    string        `json:"detail,omitempty"`
	Receipt   Receipt       `json:"receipt"`
	Evidence  []Evidence    `json:"evidence,omitempty"`
	Wait      time.Duration `json:"wait,omitempty"` // when to look again, for NotReady
}

// Receipt proves an effect. Which fields are set depends on what was done; a receipt without any is
// no receipt.
type Receipt struct {
	ID  string `json:"id,omitempty"`  // as the remote names it: a number, a post id, "accepted"
	URL string `json:"url,omitempty"` // where a person can see it
	SHA SHA    `json:"sha,omitempty"` // for Git objects
	// Status is the HTTP status that the claim came with; zero when a look found it.
	Status int `json:"status,omitempty"`
}

// Empty says that the receipt proves nothing.
func (r Receipt) Empty() bool { return r.ID == "" && r.SHA == "" && r.URL == "" }

// Evidence is one thing that a look saw.
type Evidence struct {
	At   time.Time `json:"at"`
	Look string    `json:"look"` // what was read, for example "GET pulls/7"
	Saw  string    `json:"saw"`
}
