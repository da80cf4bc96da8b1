package workflows

import (
	"time"

	"colophon/publish"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// class is how each step's activity may be repeated by Temporal. A step that changes a remote system is
// attempted once: whether it is attempted again is decided in settle, after a look.
func class(step publish.Step) publish.Class {
	switch step {
	case publish.Validate, publish.VerifyLive, publish.Prepare, publish.Reconcile:
		return publish.ReadOnly
	case publish.Admit, publish.Draft, publish.Close:
		return publish.Idempotent // they change the ledger only
	case publish.Branch, publish.PullRequest, publish.Merge, publish.Syndicate, publish.Sweep:
		return publish.Reconciled
	default:
		return publish.Unclear
	}
}

// The bounds of activities. A changing step makes at most a dozen requests of at most 30 seconds, so that
// it reports an unclear answer itself before Temporal gives it up; heartbeats show a dead worker sooner,
// whatever step it was at.
const (
	readTimeout      = 2 * time.Minute
	changeTimeout    = 8 * time.Minute
	heartbeatTimeout = 15 * time.Second
	readAttempts     = 8
)

// options are the activity options of a step: class → time-outs, attempts, back-off.
func options(step publish.Step, summary string) workflow.ActivityOptions {
	o := workflow.ActivityOptions{Summary: summary, WaitForCancellation: true, HeartbeatTimeout: heartbeatTimeout}
	switch class(step) {
	case publish.ReadOnly, publish.Idempotent:
		o.StartToCloseTimeout = readTimeout
		o.RetryPolicy = &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: time.Minute, MaximumAttempts: readAttempts,
		}
		if step == publish.VerifyLive || class(step) == publish.Idempotent {
			// The first ends by its own deadline, with a last look. The others need the ledger alone, without
			// which nothing can go on: a run must not fail because the ledger was away for some minutes.
			o.RetryPolicy.MaximumAttempts = 0
		}
	default:
		o.StartToCloseTimeout = changeTimeout
		o.RetryPolicy = &temporal.RetryPolicy{MaximumAttempts: 1}
	}
	return o
}
