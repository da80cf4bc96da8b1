package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"colophon/internal/permit"
	"colophon/publish"
)

// resolveTimeout bounds how long the end of an attempt may take to be written, also when whoever asked
// for the attempt has gone.
const resolveTimeout = 30 * time.Second

// ClaimedError refuses a claim: the operation has been attempted before, and nobody approved another
// attempt after that one.
type ClaimedError struct {
	What    string
	State   publish.AttemptState
	Attempt int
	By      string // host:pid of who made the attempt
	Since   time.Time
}

func (e *ClaimedError) Error() string {
	return fmt.Sprintf("%s: attempt %d by %s at %s is %s; another needs an approval that follows it",
		e.What, e.Attempt, e.By, stamp(e.Since), e.State)
}

// Prior answers what is known of an operation; an operation that was never attempted is no error.
func (l *Ledger) Prior(ctx context.Context, key publish.OperationKey) (publish.Prior, error) {
	return prior(ctx, l.db, key)
}

func prior(ctx context.Context, q querier, key publish.OperationKey) (p publish.Prior, err error) {
	var first, last, receipt string
	err = q.QueryRowContext(ctx, `SELECT state, attempts, rejections, deferrals, first, last, receipt, condition FROM operations WHERE op = ?`, key).
		Scan(&p.State, &p.Attempts, &p.Rejections, &p.Deferrals, &first, &last, &receipt, &p.Condition)
	if errors.Is(err, sql.ErrNoRows) {
		return publish.Prior{}, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(receipt), &p.Receipt)
	}
	if err != nil {
		return p, fmt.Errorf("ledger: operation %s: %w", key, err)
	}
	p.First, p.Last = unstamp(first), unstamp(last)
	return p, nil
}

// Attempt is the door. It claims the operation, which only one claimant can, commits the attempt's row,
// calls apply with permission to send one request, and writes down how that ended.
//
// The first attempt needs no approval; every other needs one that names the attempt it follows. A claim
// that is refused is a *ClaimedError, or a *publish.BusyError where its lane is taken, and nothing was sent. A success without a receipt, an error that is
// not a *publish.Trouble, and a panic are all not_confirmed. When the end cannot be written the answer is
// not_confirmed too, and the row stays in flight.
func (l *Ledger) Attempt(ctx context.Context, op publish.Operation, a *publish.Approval,
	apply func(context.Context, publish.Prior) (publish.Receipt, error),
) (publish.Attempted, error) {
	was, number, err := l.claim(ctx, op, a)
	if err != nil {
		return publish.Attempted{}, err
	}
	done := publish.Attempted{State: publish.Unconfirmed, Number: number, Trouble: &publish.Trouble{
		Kind: publish.Unknown, Condition: "panic", Detail: op.What + ": the attempt broke off",
	}}
	defer func() {
		if done.Trouble != nil && done.Trouble.Condition == "panic" { // apply did not return
			_ = l.resolve(ctx, op, done)
		}
	}()
	receipt, err := apply(permit.Grant(ctx), was)
	done = ended(op, number, receipt, err)
	if done.Deferrals = was.Deferrals; done.Trouble != nil && done.Trouble.Kind == publish.Deferred {
		done.Deferrals++
	}
	if err := l.resolve(ctx, op, done); err != nil {
		return publish.Attempted{State: publish.Unconfirmed, Number: number, Receipt: receipt, Trouble: &publish.Trouble{
			Kind: publish.Unknown, Condition: "ledger_write_failed", Detail: op.What + ": it ended " + string(done.State) + ", which could not be written down", Err: err,
		}}, nil
	}
	return done, nil
}

func ended(op publish.Operation, number int, receipt publish.Receipt, err error) publish.Attempted {
	if err == nil && receipt.Empty() {
		err = &publish.Trouble{Kind: publish.Unknown, Condition: "no_receipt", Detail: op.What + ": a success that proves nothing"}
	}
	if err != nil {
		t := publish.AsTrouble(err)
		return publish.Attempted{State: t.State(), Number: number, Trouble: t}
	}
	return publish.Attempted{State: publish.Done, Number: number, Receipt: receipt}
}

// claim is one transaction: who commits it may send.
func (l *Ledger) claim(ctx context.Context, op publish.Operation, a *publish.Approval) (was publish.Prior, number int, err error) {
	err = l.within(ctx, func(tx *sql.Tx) error {
		if was, err = prior(ctx, tx, op.Key()); err != nil {
			return err
		}
		approved := a != nil && a.Operation == op.Key() && a.Attempt == was.Attempts
		if was.State == publish.Done || was.State != publish.NotAttempted && !approved {
			return claimed(ctx, tx, op, was)
		}
		at := l.now()
		if err := enter(ctx, tx, op, at); err != nil {
			return err
		}
		now := stamp(at)
		number = was.Attempts + 1
		_, err := tx.ExecContext(ctx, `INSERT INTO operations
			(op, what, intent, destination, content_id, revision, channel, account, text, state, attempts, rejections, first, last, receipt, looked, evidence)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, '{}', '', '[]')
			ON CONFLICT (op) DO UPDATE SET state = excluded.state, attempts = excluded.attempts, last = excluded.last, text = excluded.text`,
			op.Key(), op.What, op.Intent, op.Destination, op.ContentID, op.Revision, op.Channel, op.Account, op.Text, publish.InFlight, number, now, now)
		if err != nil {
			return fmt.Errorf("ledger: claim %s: %w", op.What, err)
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO attempts (op, number, by, approval, started, state, ended, status, receipt, error) VALUES (?, ?, ?, ?, ?, ?, '', 0, '{}', '')`,
			op.Key(), number, l.who, text(a), now, publish.InFlight)
		if err != nil {
			return fmt.Errorf("ledger: claim %s: %w", op.What, err)
		}
		return l.event(ctx, tx, attempt, string(op.Key()), map[string]any{"operation": op, "number": number, "by": l.who, "approval": a})
	})
	return was, number, err
}

func claimed(ctx context.Context, tx *sql.Tx, op publish.Operation, was publish.Prior) error {
	e := &ClaimedError{What: op.What, State: was.State, Attempt: was.Attempts, Since: was.Last}
	err := tx.QueryRowContext(ctx, `SELECT by FROM attempts WHERE op = ? AND number = ?`, op.Key(), was.Attempts).Scan(&e.By)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("ledger: %w", err)
	}
	return e
}

// resolve writes down how an attempt ended. An operation that is done stays done; and the end of an
// attempt that another has followed says nothing about that one, unless it says done.
func (l *Ledger) resolve(ctx context.Context, op publish.Operation, a publish.Attempted) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resolveTimeout)
	defer cancel()
	status, problem, rejected, deferred := a.Receipt.Status, "", count(a.State == publish.Failed), 0
	var why publish.Condition
	if a.Trouble != nil {
		status, problem, why = a.Trouble.Status, summary(a.Trouble.Error()), a.Trouble.Condition
		deferred = count(a.Trouble.Kind == publish.Deferred)
	}
	return l.within(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE attempts SET state = ?, ended = ?, status = ?, receipt = ?, error = ? WHERE op = ? AND number = ?`,
			a.State, stamp(l.now()), status, text(a.Receipt), problem, op.Key(), a.Number)
		if err != nil {
			return fmt.Errorf("ledger: resolve %s: %w", op.What, err)
		}
		_, err = tx.ExecContext(ctx, `UPDATE operations SET state = ?, receipt = ?, condition = ?, rejections = rejections + ?, deferrals = deferrals + ?
			WHERE op = ? AND state <> ? AND (attempts = ? OR ? = ?)`,
			a.State, text(a.Receipt), why, rejected, deferred, op.Key(), publish.Done, a.Number, a.State, publish.Done)
		if err != nil {
			return fmt.Errorf("ledger: resolve %s: %w", op.What, err)
		}
		if err := leave(ctx, tx, op, a.Trouble, l.now()); err != nil {
			return err
		}
		return l.event(ctx, tx, resolution(a.State), string(op.Key()), map[string]any{
			"number": a.Number, "status": status, "receipt": a.Receipt, "error": problem,
		})
	})
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

func resolution(s publish.AttemptState) string {
	switch s {
	case publish.Done:
		return sent
	case publish.Failed:
		return failed
	case publish.NotPerformed:
		return notPerformed
	default:
		return unknown
	}
}

// Confirm writes down that a look found the operation's effect, whoever brought it about.
func (l *Ledger) Confirm(ctx context.Context, op publish.Operation, r publish.Receipt, e []publish.Evidence) error {
	return l.within(ctx, func(tx *sql.Tx) error {
		now := stamp(l.now())
		_, err := tx.ExecContext(ctx, `INSERT INTO operations
			(op, what, intent, destination, content_id, revision, channel, account, text, state, attempts, rejections, first, last, receipt, looked, evidence)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, ?, ?, ?, ?, ?)
			ON CONFLICT (op) DO UPDATE SET state = excluded.state, receipt = excluded.receipt, looked = excluded.looked, evidence = excluded.evidence`,
			op.Key(), op.What, op.Intent, op.Destination, op.ContentID, op.Revision, op.Channel, op.Account, op.Text, publish.Done, now, now, text(r), now, text(e))
		if err != nil {
			return fmt.Errorf("ledger: confirm %s: %w", op.What, err)
		}
		if err := leave(ctx, tx, op, nil, l.now()); err != nil {
			return err
		}
		return l.event(ctx, tx, confirmed, string(op.Key()), map[string]any{"operation": op, "receipt": r, "evidence": e})
	})
}

// Observe writes down what a look saw of an operation that was attempted.
func (l *Ledger) Observe(ctx context.Context, key publish.OperationKey, seen publish.Presence, e []publish.Evidence) error {
	return l.within(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `UPDATE operations SET looked = ?, evidence = ? WHERE op = ?`, stamp(l.now()), text(e), key); err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
		return l.event(ctx, tx, reconciled, string(key), map[string]any{"presence": seen, "evidence": e})
	})
}

// OperationRow is an operation as the ledger holds it.
type OperationRow struct {
	Operation publish.Operation `json:"operation"`
	Prior     publish.Prior     `json:"prior"`
}

// Operations lists an intent's operations in the order in which they were first attempted.
func (l *Ledger) Operations(ctx context.Context, key publish.Key) ([]OperationRow, error) {
	rows, err := l.db.QueryContext(ctx, `SELECT what, intent, destination, content_id, revision, channel, account, text, state, attempts, rejections, deferrals, first, last, receipt
		FROM operations WHERE intent = ? ORDER BY first, rowid`, key)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	defer rows.Close()
	var out []OperationRow
	for rows.Next() {
		var r OperationRow
		var first, last, receipt string
		if err := rows.Scan(&r.Operation.What, &r.Operation.Intent, &r.Operation.Destination, &r.Operation.ContentID, &r.Operation.Revision, &r.Operation.Channel,
			&r.Operation.Account, &r.Operation.Text, &r.Prior.State, &r.Prior.Attempts, &r.Prior.Rejections, &r.Prior.Deferrals, &first, &last, &receipt); err != nil {
			return nil, fmt.Errorf("ledger: %w", err)
		}
		r.Prior.First, r.Prior.Last = unstamp(first), unstamp(last)
		if err := json.Unmarshal([]byte(receipt), &r.Prior.Receipt); err != nil {
			return nil, fmt.Errorf("ledger: %w", err)
		}
		out = append(out, r)
	}
	return out, rows.Err()
}
