package workflows

import (
	"time"

	"colophon/publish"

	"go.temporal.io/sdk/workflow"
)

// settle brings one step to a settled outcome: passed, skipped or abandoned.
//
// A fresh and a resumed run come here alike, for the step always looks first. An outcome that cannot be
// told is looked into, twice, before another attempt is approved; a rule approves only what the policy's
// budget and the effect's class allow; everything else waits for a person.
func (r *run) settle(step publish.Step) (publish.Result, publish.Action) {
	task := r.task(step)
	begun := workflow.Now(r.ctx)
	for waits := 1; ; waits++ {
		res := r.attempt(step, task)
		if res.Outcome == publish.NotConfirmed {
			r.note(step, res, "")
			res = r.reconcile(task, res)
		}
		r.note(step, res, "")
		if res.Outcome == publish.Passed {
			return res, ""
		}
		kept := unused(task.Approval, res)
		task = r.task(step)
		patient := workflow.Now(r.ctx).Sub(begun) < r.req.Policy.Patience
		if approval, may := r.req.Policy.MayRepeat(res); may && (patient || res.Deferrals == 0) {
			r.approve(step, approval)
			r.pause(step, max(res.Wait, publish.Backoff(res.Attempt)), "the next attempt", res)
			task.Approval = &approval
			continue
		}
		if (res.Wait > 0 || res.Outcome == publish.FailedStep && kept != nil) && patient {
			task.Approval = kept
			r.pause(step, max(res.Wait, publish.Backoff(waits)), "another look", res)
			continue
		}
		if !res.Unsettled && res.Outcome != publish.NotConfirmed {
			r.leave() // nothing is under way: while a person is waited for, others may go on
		}
		res, d := r.ask(task, res)
		switch d.Action {
		case publish.Retry:
			task.Approval = &publish.Approval{Operation: res.Operation, Attempt: res.Attempt, By: d.By, Reason: d.Note, Evidence: res.Evidence}
			r.approve(step, *task.Approval)
			r.enter()
			begun, waits = workflow.Now(r.ctx), 0
		case publish.Confirm:
			return res, ""
		default:
			return res, d.Action
		}
	}
}

// unused answers an approval that was not used: no attempt has followed the one that it names, because the remote was
// not ready or the process died before it.
func unused(a *publish.Approval, res publish.Result) *publish.Approval {
	if a != nil && a.Operation == res.Operation && a.Attempt == res.Attempt {
		return a
	}
	return nil
}

// attempt runs the step's activity once and reads what it proves.
func (r *run) attempt(step publish.Step, task publish.Task) publish.Result {
	r.now(step, "")
	var res publish.Result
	ctx := workflow.WithActivityOptions(r.ctx, options(step, r.summary(step)))
	if err := workflow.ExecuteActivity(ctx, string(step), task).Get(r.ctx, &res); err != nil {
		return conclude(step, err)
	}
	return res
}

// reconcile waits until the remote can be expected to show what it did, and looks: until something is
// seen, or until two spaced looks have seen nothing. What the remote said was done is looked for longer, since
// it will not be made again.
func (r *run) reconcile(task publish.Task, was publish.Result) publish.Result {
	begun, step := workflow.Now(r.ctx), task.Step
	r.pause(step, max(was.Wait, r.req.Policy.QuietPeriod), "the remote to show what happened", was)
	for absences, waits := 0, 1; ; waits++ {
		res := r.look(task)
		switch {
		case res.Outcome == publish.NotConfirmed && res.Presence == publish.Absent:
			if absences++; absences == r.looks(res) {
				return res
			}
			r.note(step, res, "")
			r.pause(step, max(r.req.Policy.LookGap, publish.Backoff(absences-1)), "a second look", res)
		case res.Wait > 0 && res.Outcome != publish.FailedStep && workflow.Now(r.ctx).Sub(begun) < r.req.Policy.Patience:
			r.pause(step, max(res.Wait, publish.Backoff(waits)), "another look", res)
		default:
			return res
		}
	}
}

// claimedLooks is how often that is looked for which the remote said was done: for about ten minutes.
const claimedLooks = 9

// looks is how many looks must have seen nothing.
func (r *run) looks(res publish.Result) int {
	if res.Condition != publish.ClaimedNotSeen || workflow.GetVersion(r.ctx, "claimed-looks", workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		return 2
	}
	return claimedLooks
}

// look runs one Reconcile activity.
func (r *run) look(task publish.Task) publish.Result {
	r.now(task.Step, "looking")
	var res publish.Result
	ctx := workflow.WithActivityOptions(r.ctx, options(publish.Reconcile, "Look how "+string(task.Step)+" ended"))
	if err := workflow.ExecuteActivity(ctx, string(publish.Reconcile), task).Get(r.ctx, &res); err != nil {
		res = conclude(publish.Reconcile, err)
		res.Unsettled = true
	}
	return res
}

// approve writes onto the record who let which attempt be followed by another, why, and on what evidence.
func (r *run) approve(step publish.Step, a publish.Approval) {
	r.record.Approved(step, a, workflow.Now(r.ctx))
	r.show()
}

// pause is a durable timer, shown on the record.
func (r *run) pause(step publish.Step, d time.Duration, what string, res publish.Result) {
	at := workflow.Now(r.ctx)
	r.wait(&publish.Waiting{
		Step: step, Channel: r.channel, For: what, Owner: publish.Colophon, Next: res.Detail,
		Condition: res.Condition, Since: at, Until: at.Add(d),
	})
	timer := workflow.NewTimerWithOptions(r.ctx, d, workflow.TimerOptions{Summary: string(step) + ": wait for " + what})
	_ = timer.Get(r.ctx, nil)
	r.wait(nil)
}
