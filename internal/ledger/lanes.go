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

// enter takes the operation's lane, in the transaction of its claim, or answers a *publish.BusyError. An
// operation may follow its own attempt at once: that one has been looked into, or there would be no approval.
func enter(ctx context.Context, tx *sql.Tx, op publish.Operation, now time.Time) error {
	if op.Lane.Name == "" {
		return nil
	}
	var holder publish.OperationKey
	var until, why string
	var leased bool
	err := tx.QueryRowContext(ctx, `SELECT op, leased, until, why FROM lanes WHERE name = ?`, op.Lane.Name).Scan(&holder, &leased, &until, &why)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("ledger: lane %s: %w", op.Lane.Name, err)
	}
	own := leased && holder == op.Key()
	if after := unstamp(until).Sub(now); err == nil && after > 0 && !own {
		if leased { // by somebody at work, who is done long before the lease is over
			after = min(after, max(op.Lane.Gap, atWork))
		}
		return &publish.BusyError{Lane: op.Lane.Name, By: why, After: after}
	}
	return lane(ctx, tx, op, true, now.Add(lease), fmt.Sprintf("%s of %s is under way", op.What, op.Intent))
}

// leave opens the operation's lane again: after the gap, or when the remote that put the attempt off wants to
// be asked again. A limit closes the lane for all, whoever holds it by then.
func leave(ctx context.Context, tx *sql.Tx, op publish.Operation, t *publish.Trouble, now time.Time) error {
	if op.Lane.Name == "" {
		return nil
	}
	if t != nil && t.Kind == publish.Deferred && t.After > op.Lane.Gap {
		return lane(ctx, tx, op, false, now.Add(t.After), summary(t.Error()))
	}
	opens := now
	if op.Lane.Gap > 0 {
		opens = up(now.Add(op.Lane.Gap))
	}
	_, err := tx.ExecContext(ctx, `UPDATE lanes SET leased = 0, until = ?, why = ? WHERE name = ? AND op = ? AND leased = 1`,
		stamp(opens), "one change every "+op.Lane.Gap.String(), op.Lane.Name, op.Key())
	if err != nil {
		return fmt.Errorf("ledger: lane %s: %w", op.Lane.Name, err)
	}
	return nil
}

func lane(ctx context.Context, tx *sql.Tx, op publish.Operation, leased bool, until time.Time, why string) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO lanes (name, op, leased, until, why) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (name) DO UPDATE SET op = excluded.op, leased = excluded.leased, until = excluded.until, why = excluded.why
			WHERE lanes.leased = 1 OR lanes.until <= excluded.until`, // no shorter limit opens what a longer one has closed
		op.Lane.Name, op.Key(), leased, stamp(up(until)), why)
	if err != nil {
		return fmt.Errorf("ledger: lane %s: %w", op.Lane.Name, err)
	}
	return nil
}

// up rounds up to what a stamp can hold, so that no lane opens early.
func up(t time.Time) time.Time { return t.Add(time.Millisecond - time.Nanosecond) }
