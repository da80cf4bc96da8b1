package publish

import "time"

// Policy is what a run was started with about waiting and repeating. It travels in the workflow's
// input, so that a run keeps its policy while the configuration changes.
type Policy struct {
	QuietPeriod  time.Duration `json:"quiet_period"`  // from an unclear answer to the first look
	LookGap      time.Duration `json:"look_gap"`      // between the two looks that prove absence
	Budget       int           `json:"budget"`        // attempts at one operation without a person
	LiveDeadline time.Duration `json:"live_deadline"` // from the merge until the article must be live
	Patience     time.Duration `json:"patience"`      // how long a step waits for a remote before it asks a person
	StrayDelay   time.Duration `json:"stray_delay"`   // from an unclear answer until no request can arrive late any more
}

// DefaultPolicy suits a site on the public internet.
func DefaultPolicy() Policy {
	return Policy{
		QuietPeriod: time.Minute, LookGap: 15 * time.Second, Budget: 3, LiveDeadline: 30 * time.Minute, Patience: 24 * time.Hour,
		StrayDelay: 10 * time.Minute,
	}
}

// Request starts a run: the intent and the policy it runs under.
type Request struct {
	Intent Intent `json:"intent"`
	Policy Policy `json:"policy"`
}

// DeliveryRequest starts a delivery of a live article to one channel.
type DeliveryRequest struct {
	Request
	Plan    Plan   `json:"plan"`
	Channel string `json:"channel"`
}

// MayRepeat says whether a rule, without a person, may approve another attempt after this result, and
// why. It is the only place where that is decided. Attempts that the remote put off are not counted: they
// are bounded by Patience.
func (p Policy) MayRepeat(r Result) (Approval, bool) {
	if !r.Repeat || r.Attempt-r.Deferrals >= p.Budget {
		return Approval{}, false
	}
	switch {
	case r.Outcome == FailedStep && r.Attempt == 0:
		return Approval{Operation: r.Operation, By: Rule, Reason: "it was never attempted"}, true
	case r.Outcome == FailedStep:
		return Approval{Operation: r.Operation, Attempt: r.Attempt, By: Rule, Reason: "the last attempt provably changed nothing", Evidence: r.Evidence}, true
	case r.Outcome == NotConfirmed && r.Presence == Absent:
		return Approval{Operation: r.Operation, Attempt: r.Attempt, By: Rule, Reason: "two spaced looks saw nothing", Evidence: r.Evidence}, true
	}
	return Approval{}, false
}

// Backoff is how long to wait before the n-th repetition, the first being 1, when the remote named no time
// itself: from two seconds to ten minutes.
func Backoff(n int) time.Duration {
	return min(time.Duration(1<<min(max(n, 1), 10))*time.Second, 10*time.Minute)
}
