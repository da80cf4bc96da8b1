package workflows

import (
	"errors"

	"colophon/publish"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
)

// conclude reads what a failed activity proves. It is an allow-list: what is not on it may have taken
// effect. An activity that never started, or that no worker knows, has changed nothing; a read that has
// used up its repeats has changed nothing either.
func conclude(step publish.Step, err error) publish.Result {
	res := publish.Result{Outcome: publish.NotConfirmed, Condition: "answer_lost", Detail: reason(err)}
	switch {
	case neverStarted(err):
		res.Outcome, res.Condition, res.Repeat = publish.FailedStep, "not_started", true
	case class(step) == publish.ReadOnly || class(step) == publish.Idempotent:
		res.Outcome, res.Condition, res.Next = publish.Blocked, "step_failed", "mend the cause, then decide retry"
	}
	return res
}

func neverStarted(err error) bool {
	if e, ok := errors.AsType[*temporal.TimeoutError](err); ok {
		return e.TimeoutType() == enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START
	}
	if e, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return e.Type() == "ActivityNotRegisteredError"
	}
	return false
}

// reason is the innermost cause in a few words; activity errors repeat the activity's identity, which
// says nothing to a reader.
func reason(err error) string {
	if e, ok := errors.AsType[*temporal.TimeoutError](err); ok {
		switch e.TimeoutType() {
		case enumspb.TIMEOUT_TYPE_HEARTBEAT:
			return "the worker stopped answering while the step was under way"
		case enumspb.TIMEOUT_TYPE_START_TO_CLOSE:
			return "the step did not answer in time"
		}
		return "time-out: " + e.TimeoutType().String()
	}
	if e, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return e.Message()
	}
	return err.Error()
}
