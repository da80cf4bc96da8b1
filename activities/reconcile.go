package activities

import (
	"context"
	"fmt"

	"colophon/publish"
)

// Reconcile finds out how an unconfirmed step ended. It only reads remote systems, so Temporal may
// repeat it; what it sees, it writes into the ledger.
//
// It answers passed when everything the step does is there and ours; not_confirmed with presence absent
// when the first missing effect was not seen (two such looks, spaced, prove its absence); failed when the
// ledger knows that nothing was sent; blocked when a person has to look.
func (s *Steps) Reconcile(ctx context.Context, task publish.Task) (publish.Result, error) {
	defer heartbeat(ctx)()
	effects, err := s.effects(ctx, task)
	if err != nil {
		res := stopped("prepare "+string(task.Step), err)
		res.Unsettled = true // for all that is known
		return res, nil
	}
	all := publish.Result{Outcome: publish.Passed}
	for _, e := range effects {
		res := s.reconcileOne(ctx, e, task.Confirm)
		res.Unsettled = s.unsettled(ctx, e.Operation(), res)
		all = join(all, e.Operation(), res)
		if res.Outcome != publish.Passed {
			return all, nil
		}
	}
	return all, nil
}

func (s *Steps) reconcileOne(ctx context.Context, e publish.Effect, confirm *publish.Decision) publish.Result {
	op, traits := e.Operation(), e.Traits()
	prior, err := s.Ledger.Prior(ctx, op.Key())
	if err != nil {
		return unreadable("the ledger", err)
	}
	switch {
	case prior.State == publish.Done && !traits.LookAfter:
		return passed(op, prior.Receipt, nil)
	case confirm != nil:
		return s.confirm(ctx, e, prior, *confirm)
	case prior.State == publish.NotAttempted:
		return publish.Result{Outcome: publish.FailedStep, Condition: "not_attempted", Detail: op.What + ": not attempted yet", Repeat: true}
	case prior.State == publish.NotPerformed || prior.State == publish.Failed:
		return left(prior, traits)
	}
	res, absent := s.look(ctx, e, prior)
	if !absent {
		return res
	}
	res.Outcome, res.Condition = publish.NotConfirmed, "not_seen"
	res.Detail = fmt.Sprintf("%s: not seen after attempt %d", op.What, prior.Attempts)
	if prior.State == publish.Done {
		res.Condition, res.Detail = publish.ClaimedNotSeen, fmt.Sprintf("%s: it was answered as done, and is not seen yet", op.What)
	}
	res.Repeat = prior.State != publish.Done && (traits.Class == publish.Idempotent || traits.Class == publish.Reconciled)
	return res
}

// confirm takes a person's receipt: after a look at it, or, where nothing can be looked at, at the person's
// word.
func (s *Steps) confirm(ctx context.Context, e publish.Effect, prior publish.Prior, d publish.Decision) publish.Result {
	op := e.Operation()
	seen, receipt := []publish.Evidence{{At: now(), Look: "decision by " + d.By, Saw: d.Note}}, d.Receipt
	if e.Traits().Class == publish.Reconciled {
		prior.Receipt = d.Receipt
		f, err := e.Find(ctx, prior)
		if err != nil {
			return stopped("look for "+op.What+" "+d.Receipt.ID, err)
		}
		if seen = append(seen, f.Evidence...); f.Presence != publish.Present {
			return publish.Result{
				Outcome: publish.Blocked, Condition: "receipt_not_verified", Detail: fmt.Sprintf("%s: the receipt %q of %s does not hold: %s", op.What, d.Receipt.ID, d.By, saw(f)),
				Next: "look at the evidence; decide confirm with the right id, or retry, skip, abandon", Evidence: seen, Presence: f.Presence, Attempt: prior.Attempts,
			}
		}
		receipt = f.Receipt
	}
	if err := s.Ledger.Confirm(ctx, op, receipt, seen); err != nil {
		return unreadable("the ledger", err)
	}
	res := passed(op, receipt, seen)
	res.Detail = "confirmed by " + d.By
	return res
}

// saw is what a look saw, in words.
func saw(f publish.Finding) string {
	for _, e := range f.Evidence {
		return e.Saw
	}
	return string(f.Presence)
}
