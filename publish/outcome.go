package publish

import "time"

// Outcome is how a step ended. The list is closed, and NotConfirmed is never taken for FailedOutcome.
type Outcome string

// The outcomes.
const (
	Passed       Outcome = "passed"        // the requested state is confirmed
	FailedStep   Outcome = "failed"        // definitively rejected, or provably not performed
	Blocked      Outcome = "blocked"       // a named condition prevents safe continuation
	NotConfirmed Outcome = "not_confirmed" // may have taken effect: must be reconciled
)

// State is how far an intent has come.
type State string

// The states, in order.
const (
	Scheduled    State = "scheduled"
	Researched   State = "researched"
	Drafted      State = "drafted"
	QAPassed     State = "qa_passed"
	Validated    State = "validated"
	PROpen       State = "pr_open"
	Merged       State = "merged"
	LiveVerified State = "live_verified"
	Syndicated   State = "syndicated"
)

// Step is one activity of a run, under the name that Temporal shows.
type Step string

// The steps.
const (
	Admit       Step = "Admit"
	Draft       Step = "Draft"
	Validate    Step = "Validate"
	Branch      Step = "Branch"
	PullRequest Step = "PullRequest"
	Merge       Step = "Merge"
	VerifyLive  Step = "VerifyLive"
	Prepare     Step = "Prepare" // fixes an announcement and checks it, before the delivery takes its place in the line
	Syndicate   Step = "Syndicate"
	Sweep       Step = "Sweep" // removes what a request that arrived late has left behind
	Reconcile   Step = "Reconcile"
	Close       Step = "Close" // writes the terminal record
)

// Task is what a step is given: small, and free of secrets and of the article's text.
type Task struct {
	Step     Step      `json:"step"` // for Reconcile: the step whose effects are looked for
	Intent   Intent    `json:"intent"`
	Plan     Plan      `json:"plan"`
	Channel  string    `json:"channel,omitempty"`
	Approval *Approval `json:"approval,omitempty"`
	Confirm  *Decision `json:"confirm,omitempty"` // for Reconcile: a person's receipt
	Deadline time.Time `json:"deadline,omitzero"` // for waits that a look ends
}

// Result is what a step answers.
type Result struct {
	Outcome   Outcome       `json:"outcome"`
	Condition Condition     `json:"condition,omitempty"`
	Detail    string        `json:"detail,omitempty"`
	Next      string        `json:"next,omitempty"` // what a person should do, when blocked
	Plan      *Plan         `json:"plan,omitempty"` // when the step fixed more of the plan
	Receipts  []Named       `json:"receipts,omitempty"`
	Evidence  []Evidence    `json:"evidence,omitempty"`
	Operation OperationKey  `json:"operation,omitempty"` // the one that did not pass
	Attempt   int           `json:"attempt,omitempty"`   // its last attempt
	Deferrals int           `json:"deferrals,omitempty"` // of its attempts, those that the remote put off
	Presence  Presence      `json:"presence,omitempty"`  // what the last look saw
	Repeat    bool          `json:"repeat,omitempty"`    // a rule may approve another attempt
	Wait      time.Duration `json:"wait,omitempty"`      // try or look again after this, without a person
	Unsettled bool          `json:"unsettled,omitempty"` // the operation may have taken effect
	Line      string        `json:"line,omitempty"`      // of Prepare: the account whose line the delivery must stand in
	Gap       time.Duration `json:"gap,omitempty"`       // of Prepare: the line's pace
}

// NotAnnouncedAgain is the condition of a correction that a channel is not told of.
const NotAnnouncedAgain Condition = "not_announced_again"

// ClaimedNotSeen is the condition of what a remote said was done, and does not show.
const ClaimedNotSeen Condition = "claimed_not_seen"

// Named is a receipt and what it is for: "commit", "pull request", "mastodon".
type Named struct {
	What    string  `json:"what"`
	Receipt Receipt `json:"receipt"`
}
