package workflows

import (
	"errors"
	"testing"

	"colophon/publish"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
)

func TestOnlyTheListedFailuresProveThatNothingWasDone(t *testing.T) {
	never := temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START, nil)
	for name, c := range map[string]struct {
		err  error
		want publish.Outcome
	}{
		"never started":       {never, publish.FailedStep},
		"unknown to workers":  {temporal.NewApplicationError("no such activity", "ActivityNotRegisteredError"), publish.FailedStep},
		"start to close":      {temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_START_TO_CLOSE, nil), publish.NotConfirmed},
		"heartbeat":           {temporal.NewHeartbeatTimeoutError(), publish.NotConfirmed},
		"schedule to close":   {temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE, nil), publish.NotConfirmed},
		"panic or plain":      {errors.New("boom"), publish.NotConfirmed},
		"other application":   {temporal.NewApplicationError("exceeds size limit", "x"), publish.NotConfirmed},
		"canceled while busy": {temporal.NewCanceledError(), publish.NotConfirmed},
	} {
		for _, step := range []publish.Step{publish.Branch, publish.PullRequest, publish.Merge, publish.Syndicate} {
			if got := conclude(step, c.err); got.Outcome != c.want {
				t.Errorf("%s in %s: %s, want %s", name, step, got.Outcome, c.want)
			}
		}
	}
	if got := conclude(publish.VerifyLive, errors.New("x")); got.Outcome != publish.Blocked {
		t.Errorf("a read that failed is %s", got.Outcome)
	}
}

func TestStepsThatChangeARemoteAreAttemptedOnce(t *testing.T) {
	for _, step := range []publish.Step{publish.Branch, publish.PullRequest, publish.Merge, publish.Syndicate, publish.Sweep, "Unheard-of"} {
		o := options(step, "")
		if o.RetryPolicy.MaximumAttempts != 1 || !o.WaitForCancellation || o.HeartbeatTimeout == 0 {
			t.Errorf("%s: %+v", step, o)
		}
	}
	for _, step := range []publish.Step{publish.Admit, publish.Draft, publish.Validate, publish.VerifyLive, publish.Reconcile, publish.Close} {
		o := options(step, "")
		if o.HeartbeatTimeout == 0 {
			t.Errorf("%s: a dead worker is noticed after %s", step, o.StartToCloseTimeout)
		}
		p := o.RetryPolicy
		if forever := p.MaximumAttempts == 0; forever != (class(step) == publish.Idempotent || step == publish.VerifyLive) {
			t.Errorf("%s: at most %d attempts", step, p.MaximumAttempts)
		}
		if p.MaximumAttempts == 1 || p.BackoffCoefficient <= 1 || p.MaximumInterval == 0 {
			t.Errorf("%s: not repeated with back-off: %+v", step, p)
		}
	}
}
