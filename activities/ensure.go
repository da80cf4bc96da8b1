package activities

import (
	"context"
	"errors"
	"time"

	"colophon/publish"

	"go.temporal.io/sdk/activity"
)

// ensure takes a step's effects, in their order, to where they should be: what is there already is
// recorded, what is missing is attempted at most once, and what cannot be told is said to be so.
func (s *Steps) ensure(ctx context.Context, task publish.Task) publish.Result {
	defer heartbeat(ctx)()
	effects, err := s.effects(ctx, task)
	if err != nil {
		res := stopped("prepare "+string(task.Step), err)
		res.Unsettled = true // for all that is known
		return res
	}
	all := publish.Result{Outcome: publish.Passed}
	for _, e := range effects {
		op := e.Operation()
		var approval *publish.Approval
		if a := task.Approval; a != nil && a.Operation == op.Key() {
			approval = a
		}
		res := s.ensureOne(ctx, e, approval)
		res.Unsettled = s.unsettled(ctx, op, res)
		all = join(all, op, res)
		told(ctx, op, res)
		if res.Outcome != publish.Passed {
			return all
		}
	}
	return all
}

// unsettled says whether an operation that did not pass may have taken effect. What the ledger cannot say may have.
func (s *Steps) unsettled(ctx context.Context, op publish.Operation, res publish.Result) bool {
	if res.Outcome == publish.Passed {
		return false
	}
	prior, err := s.Ledger.Prior(ctx, op.Key())
	return err != nil || prior.State.Unsettled()
}

// ensureOne is look, claim, act, look again.
func (s *Steps) ensureOne(ctx context.Context, e publish.Effect, approval *publish.Approval) publish.Result {
	op, traits := e.Operation(), e.Traits()
	prior, err := s.Ledger.Prior(ctx, op.Key())
	if err != nil {
		return unreadable("the ledger", err)
	}
	if prior.State == publish.Done {
		return s.done(ctx, e, prior, approval)
	}
	if approval.ByPerson() {
		prior.Condition = "" // whoever decides retry says that the cause is mended
	}
	if traits.LookFirst || prior.Attempts > 0 {
		res, absent := s.look(ctx, e, prior)
		if !absent {
			return res
		}
	}
	if approval == nil && prior.Attempts > 0 {
		return left(prior, traits)
	}
	done, err := s.attempt(ctx, e, approval)
	if busy, ok := errors.AsType[*publish.BusyError](err); ok {
		return shut(op, prior, busy)
	}
	if err != nil {
		return publish.Result{Outcome: publish.NotConfirmed, Condition: "claimed", Detail: op.What + ": " + err.Error(), Attempt: prior.Attempts}
	}
	return s.judge(ctx, e, done)
}

// shut is how an operation stands whose lane is taken or closed.
func shut(op publish.Operation, prior publish.Prior, busy *publish.BusyError) publish.Result {
	res := publish.Result{
		Outcome: publish.Blocked, Condition: busy.Why, Detail: op.What + ": " + busy.Error(), Next: "it goes on by itself",
		Attempt: prior.Attempts, Deferrals: prior.Deferrals, Wait: busy.After,
	}
	if busy.Why == publish.SameText {
		res.Wait, res.Next = 0, "the same text is never sent twice to one account: skip, or confirm with the post that stands"
	}
	return res
}

// attempt makes the one attempt, as soon as the operation's lane is free.
func (s *Steps) attempt(ctx context.Context, e publish.Effect, approval *publish.Approval) (publish.Attempted, error) {
	for begun := time.Now(); ; {
		done, err := s.Ledger.Attempt(ctx, e.Operation(), approval, e.Apply)
		busy, ok := errors.AsType[*publish.BusyError](err)
		if !ok || time.Since(begun)+busy.After > s.LaneWait {
			return done, err
		}
		select {
		case <-time.After(busy.After):
		case <-ctx.Done():
			return done, err
		}
	}
}

// done is how an operation stands that the ledger knows to be done. It is believed, unless a person had to
// decide because looks did not show it: then it has to be seen, and is never made again by us.
func (s *Steps) done(ctx context.Context, e publish.Effect, prior publish.Prior, approval *publish.Approval) publish.Result {
	if approval == nil || !e.Traits().LookAfter {
		return passed(e.Operation(), prior.Receipt, nil)
	}
	res, absent := s.look(ctx, e, prior)
	if absent {
		res.Condition, res.Detail = "claimed_but_absent", e.Operation().What+": it was answered as done, and cannot be seen"
		res.Next = "make it by hand at the remote, then decide retry; or abandon"
	}
	return res
}

// told logs how an operation stands, in fields that can be searched for.
func told(ctx context.Context, op publish.Operation, res publish.Result) {
	fields := []any{"operation", op.Key(), "what", op.What, "content", op.ContentID, "destination", op.Destination, "outcome", res.Outcome}
	for _, n := range res.Receipts {
		fields = append(fields, "receipt", n.Receipt)
	}
	if res.Outcome != publish.Passed {
		fields = append(fields, "condition", res.Condition, "detail", res.Detail, "attempt", res.Attempt)
	}
	activity.GetLogger(ctx).Info("operation", fields...)
}

// left is how an operation stands that an earlier run or a killed process left behind.
func left(p publish.Prior, t publish.Traits) publish.Result {
	res := publish.Result{Outcome: publish.FailedStep, Condition: "left_" + publish.Condition(p.State), Attempt: p.Attempts, Deferrals: p.Deferrals}
	switch {
	case p.State.Unsettled():
		res.Outcome, res.Detail, res.Wait = publish.NotConfirmed, "an earlier attempt may have taken effect", t.Settle
	case p.State == publish.NotPerformed:
		res.Detail, res.Repeat = "an earlier attempt changed nothing", true
	default:
		res.Detail = "an earlier attempt was refused"
	}
	return res
}

// judge reads an attempt's end and, where the effect asks for it, looks again before believing it.
func (s *Steps) judge(ctx context.Context, e publish.Effect, a publish.Attempted) publish.Result {
	op, traits := e.Operation(), e.Traits()
	if a.State == publish.Done && !traits.LookAfter {
		return passed(op, a.Receipt, nil)
	}
	if a.State == publish.Done {
		f, err := e.Find(ctx, publish.Prior{State: a.State, Attempts: a.Number, Receipt: a.Receipt})
		if err == nil && f.Presence == publish.Present {
			return passed(op, f.Receipt, f.Evidence)
		}
		res := publish.Result{Outcome: publish.NotConfirmed, Condition: "not_seen_yet", Attempt: a.Number, Deferrals: a.Deferrals, Evidence: f.Evidence, Wait: traits.Settle}
		res.Detail = op.What + ": the answer said done, the look after it does not show it"
		return res
	}
	t := a.Trouble
	res := publish.Result{Condition: t.Condition, Detail: t.Error(), Next: t.Next, Attempt: a.Number, Deferrals: a.Deferrals}
	switch t.Kind {
	case publish.NotSent, publish.Deferred:
		res.Outcome, res.Repeat, res.Wait = publish.FailedStep, true, t.After
	case publish.Rejected:
		res.Outcome = publish.FailedStep
	case publish.Halted:
		res.Outcome = publish.Blocked
	default:
		res.Outcome, res.Wait = publish.NotConfirmed, traits.Settle
	}
	return res
}

// look makes one look. Absent is left to the caller; everything else is a Result.
func (s *Steps) look(ctx context.Context, e publish.Effect, prior publish.Prior) (res publish.Result, absent bool) {
	op := e.Operation()
	f, err := e.Find(ctx, prior)
	if err != nil {
		return stopped("look for "+op.What, err), false
	}
	if prior.Attempts > 0 {
		if err := s.Ledger.Observe(ctx, op.Key(), f.Presence, f.Evidence); err != nil {
			return unreadable("the ledger", err), false
		}
	}
	res = publish.Result{
		Outcome: publish.Blocked, Condition: f.Condition, Detail: f.Detail,
		Evidence: f.Evidence, Presence: f.Presence, Attempt: prior.Attempts, Deferrals: prior.Deferrals,
	}
	switch f.Presence {
	case publish.Present:
		if err := s.Ledger.Confirm(ctx, op, f.Receipt, f.Evidence); err != nil {
			return unreadable("the ledger", err), false
		}
		res = passed(op, f.Receipt, f.Evidence)
		res.Condition, res.Detail = f.Condition, f.Detail
	case publish.Absent:
		return res, true
	case publish.NotReady:
		res.Next, res.Wait = "it is looked at again by itself", max(f.Wait, time.Second)
	default:
		res.Next = "look at the evidence; put it right at the remote, then decide retry"
	}
	return res, false
}

func passed(op publish.Operation, r publish.Receipt, e []publish.Evidence) publish.Result {
	return publish.Result{Outcome: publish.Passed, Receipts: []publish.Named{{What: op.What, Receipt: r}}, Evidence: e}
}

// join adds one effect's result to its step's: receipts gather, and what there was to say; the last result stands.
func join(all publish.Result, op publish.Operation, res publish.Result) publish.Result {
	res.Receipts = append(all.Receipts, res.Receipts...)
	switch {
	case all.Detail != "" && res.Detail == "":
		res.Condition, res.Detail = all.Condition, all.Detail
	case all.Detail != "":
		res.Detail = all.Detail + "; " + res.Detail
	}
	if res.Outcome != publish.Passed {
		res.Operation = op.Key()
	}
	return res
}

// heartbeatAfter is when heartbeats begin: a clean run is over by then and pays for none.
const heartbeatAfter = 3 * time.Second

// heartbeat reports a long step as alive until the returned function is called. Every step does: by its silence
// Temporal knows within seconds that a worker is dead, and has another take up what it was at.
func heartbeat(ctx context.Context) (stop func()) {
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(heartbeatAfter)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-ctx.Done():
				return
			case <-tick.C:
				activity.RecordHeartbeat(ctx)
			}
		}
	}()
	return func() { close(done) }
}
