package publish

import "time"

// Publication is what the ledger knows about an intent for ever, also after Temporal has forgotten it.
type Publication struct {
	Intent      Intent      `json:"intent"`
	Fingerprint Fingerprint `json:"fingerprint"`
	Plan        *Plan       `json:"plan,omitempty"`   // once it is pinned
	Record      *Record     `json:"record,omitempty"` // once it is terminal
	FirstSeen   time.Time   `json:"first_seen"`
}

// Admission is the ledger's answer to an intent that asks to be published.
type Admission struct {
	New         bool        `json:"new"`
	Publication Publication `json:"publication"`
}
