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

// enter takes the operation's lane, in the transaction of its claim, or answers a *publish.BusyError: the first of
// the lane's rules that forbids the claim. An operation may follow its own attempt at once: that one has been looked
// into, or there would be no approval.
func enter(ctx context.Context, tx *sql.Tx, op publish.Operation, now time.Time) error {
	if op.Lane.Name == "" {
		return nil
	}
	for _, rule := range []func(context.Context, *sql.Tx, publish.Operation, time.Time) (*publish.BusyError, error){capped, closedLane, stopped, repeated} {
		busy, err := rule(ctx, tx, op, now)
		if err != nil {
			return fmt.Errorf("ledger: lane %s: %w", op.Lane.Name, err)
		}
		if busy != nil {
			busy.Lane = op.Lane.Name
			return busy
		}
	}
	return lane(ctx, tx, op, true, now.Add(lease), publish.LaneBusy, fmt.Sprintf("%s of %s is under way", op.What, op.Intent))
}

// capped: the day's attempts are used up.
func capped(ctx context.Context, tx *sql.Tx, op publish.Operation, now time.Time) (*publish.BusyError, error) {
	if op.Lane.Cap <= 0 {
		return nil, nil
	}
	zone, err := time.LoadLocation(op.Lane.Zone)
	if err != nil {
		return nil, err
	}
	here := now.In(zone)
	begins := time.Date(here.Year(), here.Month(), here.Day(), 0, 0, 0, 0, zone)
	ends := time.Date(here.Year(), here.Month(), here.Day()+1, 0, 0, 0, 0, zone)
	var made int
	err = tx.QueryRowContext(ctx, `SELECT count(*) FROM attempts a JOIN operations o USING (op) WHERE o.destination = ? AND a.started >= ?`, op.Lane.Name, stamp(begins)).Scan(&made)
	if err != nil || made < op.Lane.Cap {
		return nil, err
	}
	return &publish.BusyError{
		Why: publish.LaneCap, After: ends.Sub(now),
		By: fmt.Sprintf("%d of %d attempts were made on %s in %s", made, op.Lane.Cap, begins.Format(time.DateOnly), zone),
	}, nil
}

// closedLane: somebody is at work, or the gap or a limit is not over.
func closedLane(ctx context.Context, tx *sql.Tx, op publish.Operation, now time.Time) (*publish.BusyError, error) {
	var holder publish.OperationKey
	var until string
	var leased int
	busy := &publish.BusyError{}
	err := tx.QueryRowContext(ctx, `SELECT op, leased, until, why, condition FROM lanes WHERE name = ?`, op.Lane.Name).Scan(&holder, &leased, &until, &busy.By, &busy.Why)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	busy.After = unstamp(until).Sub(now)
	if err != nil || busy.After <= 0 || leased == 1 && holder == op.Key() {
		return nil, err
	}
	if leased == 1 { // by somebody at work, who is done long before the lease is over
		busy.After = min(busy.After, max(op.Lane.Gap, atWork))
	}
	return busy, nil
}

// stopped: another operation may have taken effect, and nobody knows.
func stopped(ctx context.Context, tx *sql.Tx, op publish.Operation, _ time.Time) (*publish.BusyError, error) {
	if !op.Lane.Strict {
		return nil, nil
	}
	var what, intent string
	err := tx.QueryRowContext(ctx, `SELECT what, intent FROM operations WHERE destination = ? AND op <> ? AND state IN (?, ?) ORDER BY last, op LIMIT 1`,
		op.Lane.Name, op.Key(), publish.InFlight, publish.Unconfirmed).Scan(&what, &intent)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return &publish.BusyError{Why: publish.LaneStopped, After: atStop, By: fmt.Sprintf("%s of %s may have taken effect, and is not settled", what, intent)}, err
}

// repeated: the account was given this very text before. What is updated in place is no second text.
func repeated(ctx context.Context, tx *sql.Tx, op publish.Operation, _ time.Time) (*publish.BusyError, error) {
	if !op.Lane.Strict || op.Text == "" || op.What == publish.Update {
		return nil, nil
	}
	var what, intent string
	err := tx.QueryRowContext(ctx, `SELECT what, intent FROM operations WHERE destination = ? AND text = ? AND op <> ? AND state = ? ORDER BY last, op LIMIT 1`,
		op.Lane.Name, op.Text, op.Key(), publish.Done).Scan(&what, &intent)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return &publish.BusyError{Why: publish.SameText, By: fmt.Sprintf("%s of %s said the same, to the byte", what, intent)}, err
}

// leave opens the operation's lane again: after the gap, or when the remote that put the attempt off wants to
// be asked again. A limit closes the lane for all, whoever holds it by then.
func leave(ctx context.Context, tx *sql.Tx, op publish.Operation, t *publish.Trouble, now time.Time) error {
	if op.Lane.Name == "" {
		return nil
	}
	if t != nil && t.Kind == publish.Deferred && t.After > op.Lane.Gap {
		return lane(ctx, tx, op, false, now.Add(t.After), publish.LaneLimited, summary(t.Error()))
	}
	opens := now
	if op.Lane.Gap > 0 {
		opens = up(now.Add(op.Lane.Gap))
	}
	_, err := tx.ExecContext(ctx, `UPDATE lanes SET leased = 0, until = ?, why = ?, condition = ? WHERE name = ? AND op = ? AND leased = 1`,
		stamp(opens), "one change every "+op.Lane.Gap.String(), publish.LaneGap, op.Lane.Name, op.Key())
	if err != nil {
		return fmt.Errorf("ledger: lane %s: %w", op.Lane.Name, err)
	}
	return nil
}

func lane(ctx context.Context, tx *sql.Tx, op publish.Operation, leased bool, until time.Time, c publish.Condition, why string) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO lanes (name, op, leased, until, condition, why) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (name) DO UPDATE SET op = excluded.op, leased = excluded.leased, until = excluded.until, condition = excluded.condition, why = excluded.why
			WHERE lanes.leased = 1 OR lanes.until <= excluded.until`, // no shorter limit opens what a longer one has closed
		op.Lane.Name, op.Key(), count(leased), stamp(up(until)), c, why)
	if err != nil {
		return fmt.Errorf("ledger: lane %s: %w", op.Lane.Name, err)
	}
	return nil
}

// up rounds up to what a stamp can hold, so that no lane opens early.
func up(t time.Time) time.Time { return t.Add(time.Millisecond - time.Nanosecond) }
