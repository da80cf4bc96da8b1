package publish

import (
	"fmt"
	"strconv"
	"time"
)

// RecordQuery is the name of the query that answers a run's Record.
const RecordQuery = "record"

// Record is the run record: where each step stands, what proves it, and whose move it is. It tells
// recovery where to look; the repository, the site and the channels remain the sources of truth.
type Record struct {
	Intent      Intent      `json:"intent"`
	Fingerprint Fingerprint `json:"fingerprint"`
	State       State       `json:"state"`
	Outcome     Outcome     `json:"outcome,omitempty"` // empty while the run goes on
	Plan        Plan        `json:"plan"`
	Runs        []string    `json:"runs,omitempty"` // Temporal run ids that worked on it
	Steps       []StepLine  `json:"steps"`
	Deliveries  []Delivery  `json:"deliveries,omitempty"`
	Waiting     *Waiting    `json:"waiting,omitempty"`
	Refused     []Turn      `json:"refused,omitempty"` // decisions that did not fit
	Closed      time.Time   `json:"closed,omitzero"`
}

// StepLine is what happened in one step, with every turn it took.
type StepLine struct {
	Step     Step      `json:"step"`
	Outcome  Outcome   `json:"outcome"`
	Unclear  bool      `json:"unclear,omitempty"` // it was not confirmed at some time
	Receipts []Named   `json:"receipts,omitempty"`
	Turns    []Turn    `json:"turns,omitempty"`   // whatever was not a plain pass
	Omitted  int       `json:"omitted,omitempty"` // turns between the first and the others that are kept
	Ended    time.Time `json:"ended,omitzero"`
}

// Turn is one transition inside a step that was not a plain pass: an unconfirmed attempt, a look, an
// approval, a decision.
type Turn struct {
	At        time.Time  `json:"at"`
	Outcome   Outcome    `json:"outcome"`
	Condition Condition  `json:"condition,omitempty"`
	Detail    string     `json:"detail"`
	Attempt   int        `json:"attempt,omitempty"`
	By        string     `json:"by,omitempty"`
	Evidence  []Evidence `json:"evidence,omitempty"`
	Again     bool       `json:"again,omitempty"` // it goes on by itself, after a wait
	Times     int        `json:"times,omitempty"` // how often it was the same again, the last time At
}

// same says whether a turn tells nothing that another has not told.
func (t Turn) same(o Turn) bool {
	return t.Outcome == o.Outcome && t.Condition == o.Condition && t.Detail == o.Detail && t.Attempt == o.Attempt && t.By == o.By && t.Again == o.Again
}

// maxTurns is how many turns of a step are kept, the first and the newest: a record must not grow with the time
// that something is waited for.
const maxTurns = 60

func (l *StepLine) turn(t Turn) {
	if n := len(l.Turns); n > 0 && l.Turns[n-1].same(t) {
		t.Times = l.Turns[n-1].Times + 1
		l.Turns[n-1] = t
		return
	}
	l.Turns = append(l.Turns, t)
	if len(l.Turns) > maxTurns {
		l.Turns = append(l.Turns[:1], l.Turns[2:]...)
		l.Omitted++
	}
}

// Delivery is one (article, channel) pair.
type Delivery struct {
	Channel string  `json:"channel"`
	Outcome Outcome `json:"outcome,omitempty"`
	Skipped bool    `json:"skipped,omitempty"`
	Receipt Receipt `json:"receipt,omitzero"`
	Detail  string  `json:"detail,omitempty"`
}

// Waiting says what a run waits for, whose move it is, and how to make it.
type Waiting struct {
	Step      Step      `json:"step"`
	Channel   string    `json:"channel,omitempty"` // for deliveries
	For       string    `json:"for"`
	Owner     string    `json:"owner"` // Colophon or Person
	Next      string    `json:"next,omitempty"`
	Condition Condition `json:"condition,omitempty"`
	Since     time.Time `json:"since"`
	Until     time.Time `json:"until,omitzero"`

	// For a person: what is known to be done, and which operation is in question after how many attempts.
	Confirmed State        `json:"confirmed,omitempty"`
	Operation OperationKey `json:"operation,omitempty"`
	Attempt   int          `json:"attempt,omitempty"`
	Evidence  []Evidence   `json:"evidence,omitempty"`
}

// PullRequestName is what the operation that opens a pull request is called; its receipt's ID is the number.
const PullRequestName = "pull request"

// Who a wait is for.
const (
	Colophon = "Colophon"
	Person   = "a person"
)

// DeliveryID is the workflow ID of the delivery to one channel.
func DeliveryID(key Key, channel string) string { return string(key) + "/" + channel }

// Note writes down how a step stands now. Plans only grow; receipts are kept from the moment they are
// confirmed, whatever the step's outcome.
func (r *Record) Note(step Step, res Result, at time.Time, by string) {
	line := r.line(step)
	line.Outcome, line.Unclear = res.Outcome, line.Unclear || res.Outcome == NotConfirmed
	if res.Plan != nil {
		r.Plan = *res.Plan
	}
	for _, n := range res.Receipts {
		line.keep(n)
		if number, err := strconv.Atoi(n.Receipt.ID); err == nil && n.What == PullRequestName {
			r.Plan.PullRequest = number
		}
	}
	if res.Outcome == Passed {
		line.Ended = at
		r.advance(step)
	}
	if res.Outcome != Passed || by != "" || res.Detail != "" {
		line.turn(Turn{
			At: at, Outcome: res.Outcome, Condition: res.Condition, Detail: res.Detail,
			Attempt: res.Attempt, By: by, Evidence: res.Evidence, Again: res.Outcome != Passed && (res.Wait > 0 || res.Repeat),
		})
	}
}

// Unclear says whether a step was not confirmed at some time.
func (r Record) Unclear(step Step) bool {
	for _, l := range r.Steps {
		if l.Step == step {
			return l.Unclear
		}
	}
	return false
}

// RetryApproved is the condition of a turn that lets another attempt follow.
const RetryApproved Condition = "retry_approved"

// Approved writes down that another attempt may follow, who or what said so, and on what evidence. The first
// attempt follows none and needs no approval.
func (r *Record) Approved(step Step, a Approval, at time.Time) {
	if a.Attempt == 0 {
		return
	}
	line := r.line(step)
	line.turn(Turn{
		At: at, Outcome: line.Outcome, Condition: RetryApproved, Detail: fmt.Sprintf("attempt %d may follow: %s", a.Attempt+1, a.Reason),
		Attempt: a.Attempt, By: a.By, Evidence: a.Evidence, Again: true,
	})
}

func (r *Record) line(step Step) *StepLine {
	for n := range r.Steps {
		if r.Steps[n].Step == step {
			return &r.Steps[n]
		}
	}
	r.Steps = append(r.Steps, StepLine{Step: step})
	return &r.Steps[len(r.Steps)-1]
}

func (l *StepLine) keep(n Named) {
	for i := range l.Receipts {
		if l.Receipts[i].What == n.What {
			l.Receipts[i] = n
			return
		}
	}
	l.Receipts = append(l.Receipts, n)
}

// advance moves the state on; it never moves back.
func (r *Record) advance(step Step) {
	to := map[Step]State{
		Admit: Scheduled, Draft: Drafted, Validate: Validated, PullRequest: PROpen,
		Merge: Merged, VerifyLive: LiveVerified, Syndicate: Syndicated,
	}[step]
	if to != "" && order[to] >= order[r.State] {
		r.State = to
	}
}

var order = map[State]int{
	Scheduled: 0, Researched: 1, Drafted: 2, QAPassed: 3, Validated: 4,
	PROpen: 5, Merged: 6, LiveVerified: 7, Syndicated: 8,
}
