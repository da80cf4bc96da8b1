package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"colophon/publish"
)

// lease is how long an attempt whose end is never written keeps its lane: longer than its permit and the
// longest exchange last together, so that after it no request of its can be under way.
const lease = 45 * time.Second

// atWork is how soon it is asked again whether a holder at work is done.
const atWork = 100 * time.Millisecond

// atStop is how soon it is asked again whether a stopped lane is open. Whoever settles what stopped it is in no hurry.
const atStop = time.Minute

// rules are a lane's rules, in their order. Each says why it forbids a claim, if it does.
var rules = []func(context.Context, *tx, publish.Operation) (*publish.BusyError, error){capped, shut, stopped, repeated}

// admissible says with a *publish.BusyError which of the rules of the operation's lane forbids a claim, the first of
// them. An operation may follow its own attempt at once: that one has been looked into, or there would be no approval.
func admissible(ctx context.Context, tx *tx, op publish.Operation) error {
	if op.Lane.Name == "" {
		return nil
	}
	for _, forbids := range rules {
		busy, err := forbids(ctx, tx, op)
		if err != nil {
			return fmt.Errorf("ledger: lane %s: %w", op.Lane.Name, err)
		}
		if busy != nil {
			busy.Lane = op.Lane.Name
			return busy
		}
	}
	return nil
}

// capped: the day's attempts are used up.
func capped(ctx context.Context, tx *tx, op publish.Operation) (*publish.BusyError, error) {
	if op.Lane.Cap <= 0 {
		return nil, nil
	}
	zone, err := time.LoadLocation(op.Lane.Zone)
	if err != nil {
		return nil, err
	}
	here := tx.now.In(zone)
	begins := time.Date(here.Year(), here.Month(), here.Day(), 0, 0, 0, 0, zone)
	ends := time.Date(here.Year(), here.Month(), here.Day()+1, 0, 0, 0, 0, zone)
	var made int
	err = tx.QueryRowContext(ctx, `SELECT count(*) FROM attempts a JOIN operations o USING (op) WHERE o.destination = $1 AND a.started >= $2`, op.Lane.Name, stamp(begins)).Scan(&made)
	if err != nil || made < op.Lane.Cap {
		return nil, err
	}
	return &publish.BusyError{
		Why: publish.LaneCap, After: ends.Sub(tx.now),
		By: fmt.Sprintf("%d of %d attempts were made on %s in %s", made, op.Lane.Cap, begins.Format(time.DateOnly), zone),
	}, nil
}

// shut: somebody is at work, or the gap or a limit is not over.
func shut(ctx context.Context, tx *tx, op publish.Operation) (*publish.BusyError, error) {
	var holder publish.OperationKey
	var until string
	var leased int
	busy := &publish.BusyError{}
	err := tx.QueryRowContext(ctx, `SELECT op, leased, until, why, condition FROM lanes WHERE name = $1`, op.Lane.Name).Scan(&holder, &leased, &until, &busy.By, &busy.Why)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	busy.After = unstamp(until).Sub(tx.now)
	if err != nil || busy.After <= 0 || leased == 1 && holder == op.Key() {
		return nil, err
	}
	if leased == 1 { // by somebody at work, who is done long before the lease is over
		busy.After = min(busy.After, max(op.Lane.Gap, atWork))
	}
	return busy, nil
}

// stopped: another operation may have taken effect, and nobody knows.
func stopped(ctx context.Context, tx *tx, op publish.Operation) (*publish.BusyError, error) {
	if !op.Lane.Strict {
		return nil, nil
	}
	var what, intent string
	err := tx.QueryRowContext(ctx, `SELECT what, intent FROM operations WHERE destination = $1 AND op <> $2 AND state IN ($3, $4) ORDER BY last, op LIMIT 1`,
		op.Lane.Name, op.Key(), publish.InFlight, publish.Unconfirmed).Scan(&what, &intent)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return &publish.BusyError{Why: publish.LaneStopped, After: atStop, By: fmt.Sprintf("%s of %s may have taken effect, and is not settled", what, intent)}, err
}

// repeated: the account was given this very text before. What is updated in place is no second text.
func repeated(ctx context.Context, tx *tx, op publish.Operation) (*publish.BusyError, error) {
	if !op.Lane.Strict || op.Text == "" || op.What == publish.Update {
		return nil, nil
	}
	var what, intent string
	err := tx.QueryRowContext(ctx, `SELECT what, intent FROM operations WHERE destination = $1 AND text = $2 AND op <> $3 AND state = $4 ORDER BY last, op LIMIT 1`,
		op.Lane.Name, op.Text, op.Key(), publish.Done).Scan(&what, &intent)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return &publish.BusyError{Why: publish.SameText, By: fmt.Sprintf("%s of %s said the same, to the byte", what, intent)}, err
}

// closure is what an attempt does to its lane: it closes it, or says when it opens again.
type closure struct {
	Lane      string            `json:"name"`
	Until     string            `json:"until"`
	Condition publish.Condition `json:"condition"` // busy while the attempt is under way, then gap or rate_limited
	Why       string            `json:"why"`
}

// entering closes the operation's lane while its attempt is under way.
func entering(op publish.Operation, at time.Time) *closure {
	if op.Lane.Name == "" {
		return nil
	}
	return &closure{Lane: op.Lane.Name, Until: stamp(at.Add(lease)), Condition: publish.LaneBusy, Why: fmt.Sprintf("%s of %s is under way", op.What, op.Intent)}
}

// leaving opens the operation's lane again: after the gap, or when the remote that put the attempt off wants to
// be asked again.
func leaving(op publish.Operation, t *publish.Trouble, at time.Time) *closure {
	if op.Lane.Name == "" {
		return nil
	}
	if t != nil && t.Kind == publish.Deferred && t.After > op.Lane.Gap {
		return &closure{Lane: op.Lane.Name, Until: stamp(up(at.Add(t.After))), Condition: publish.LaneLimited, Why: summary(t.Error())}
	}
	var opens time.Time // at once
	if op.Lane.Gap > 0 {
		opens = up(at.Add(op.Lane.Gap))
	}
	return &closure{Lane: op.Lane.Name, Until: stamp(opens), Condition: publish.LaneGap, Why: "one change every " + op.Lane.Gap.String()}
}

// apply: only who is at work opens a lane; a limit closes it for all, whoever holds it by then.
func (c *closure) apply(ctx context.Context, tx *tx, op string) (err error) {
	switch {
	case c == nil:
		return nil
	case c.Condition == publish.LaneGap:
		_, err = tx.ExecContext(ctx, `UPDATE lanes SET leased = 0, until = $1, why = $2, condition = $3 WHERE name = $4 AND op = $5 AND leased = 1`,
			c.Until, c.Why, c.Condition, c.Lane, op)
	default:
		_, err = tx.ExecContext(ctx, `INSERT INTO lanes (name, op, leased, until, condition, why) VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (name) DO UPDATE SET op = excluded.op, leased = excluded.leased, until = excluded.until, condition = excluded.condition, why = excluded.why
				WHERE lanes.leased = 1 OR lanes.until <= excluded.until`, // no shorter limit opens what a longer one has closed
			c.Lane, op, count(c.Condition == publish.LaneBusy), c.Until, c.Condition, c.Why)
	}
	return err
}
