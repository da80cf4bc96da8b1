package workflows

import (
	"fmt"

	"colophon/publish"

	"go.temporal.io/sdk/workflow"
)

// listen opens the run to people. A decision comes as an update, which is refused with the reason when
// it does not fit, or as a signal, whose refusal is written on the record.
func (r *run) listen() error {
	err := workflow.SetQueryHandlerWithOptions(r.ctx, publish.RecordQuery, func() (publish.Record, error) { return r.record, nil },
		workflow.QueryHandlerOptions{Description: "The run record: every step with its outcome, receipts and turns"})
	if err != nil {
		return err
	}
	err = workflow.SetUpdateHandlerWithOptions(r.ctx, publish.DecideName,
		func(ctx workflow.Context, d publish.Decision) (string, error) {
			if err := d.Check(r.waiting()); err != nil { // another was taken since this one was let in
				return "", refuse(err.Error())
			}
			r.decisions.Send(ctx, d)
			return "taken: " + string(d.Action) + " " + string(d.Step), nil
		},
		workflow.UpdateHandlerOptions{
			Description: "Settle the step that waits: {step, action: confirm|retry|skip|abandon, by, note, receipt}",
			Validator:   func(d publish.Decision) error { return d.Check(r.waiting()) },
		})
	if err != nil {
		return err
	}
	signals := workflow.GetSignalChannelWithOptions(r.ctx, publish.DecideName,
		workflow.SignalChannelOptions{Description: "The same as the update decide, for tools that only signal"})
	workflow.Go(r.ctx, func(ctx workflow.Context) {
		for {
			var d publish.Decision
			if !signals.Receive(ctx, &d) {
				return
			}
			if err := d.Check(r.waiting()); err != nil {
				r.refused(d, err)
				continue
			}
			r.decisions.Send(ctx, d)
		}
	})
	return nil
}

// waiting is the step that waits for a person, if any.
func (r *run) waiting() publish.Step {
	if w := r.record.Waiting; w != nil && w.Owner == publish.Person {
		return w.Step
	}
	return ""
}

// maxRefused is how many refused decisions the record keeps, the newest.
const maxRefused = 20

// refused writes down a decision that did not fit, so that whoever sent it can see why nothing happened.
func (r *run) refused(d publish.Decision, err error) {
	all := append(r.record.Refused, publish.Turn{
		At: workflow.Now(r.ctx), Outcome: publish.Blocked, Condition: "decision_refused", Detail: err.Error(), By: d.By,
	})
	r.record.Refused = all[max(0, len(all)-maxRefused):]
	r.show()
}

// drain refuses decisions that are left over: of two about one block the first is taken, and the second says
// nothing of the next block.
func (r *run) drain() {
	var d publish.Decision
	for r.decisions.ReceiveAsync(&d) {
		r.refused(d, fmt.Errorf("%s of %s: somebody else decided before", d.Action, d.Step))
	}
}

// decision waits for a person, as long as it takes.
func (r *run) decision(step publish.Step, res publish.Result) publish.Decision {
	r.drain()
	r.mark(publish.Blocked, step)
	r.wait(&publish.Waiting{
		Step: step, Channel: r.channel, For: "a decision about " + string(step) + ": " + res.Detail, Owner: publish.Person,
		Next: res.Next, Condition: res.Condition, Since: workflow.Now(r.ctx),
		Confirmed: r.record.State, Operation: res.Operation, Attempt: res.Attempt, Evidence: res.Evidence,
	})
	workflow.GetLogger(r.ctx).Warn("blocked, a person has to decide", "key", r.req.Intent.Key, "channel", r.channel,
		"step", step, "condition", res.Condition, "detail", res.Detail)
	var d publish.Decision
	r.decisions.Receive(r.ctx, &d)
	r.drain()
	_ = workflow.UpsertTypedSearchAttributes(r.ctx, Outcome.ValueUnset())
	r.note(step, publish.Result{Outcome: res.Outcome, Condition: "decided", Detail: string(d.Action) + ": " + d.Note, Attempt: res.Attempt}, d.By)
	r.wait(nil)
	return d
}

// ask waits for a decision that can be acted on. A receipt is looked at first, and asked about again when it
// does not hold: a person who says that it was done must not bring about that it is done twice.
func (r *run) ask(task publish.Task, res publish.Result) (publish.Result, publish.Decision) {
	for {
		d := r.decision(task.Step, res)
		if d.Action != publish.Confirm {
			return res, d
		}
		confirming := task
		confirming.Confirm = &d
		res = r.look(confirming)
		for waits := 1; res.Wait > 0 && waits <= confirmLooks; waits++ {
			r.pause(task.Step, max(res.Wait, publish.Backoff(waits)), "another look at the receipt", res)
			res = r.look(confirming)
		}
		r.note(task.Step, res, d.By)
		if res.Outcome == publish.Passed {
			return res, d
		}
	}
}

// confirmLooks is how often a receipt is looked at again that cannot be looked at just now.
const confirmLooks = 6
