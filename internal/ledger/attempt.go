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
	err = q.QueryRowContext(ctx, `SELECT state, attempts, rejections, deferrals, first, last, receipt, condition FROM operations WHERE op = $1`, key).
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

// attempted tells that an attempt began.
type attempted struct {
	Operation publish.Operation `json:"operation"`
	Number    int               `json:"number"`
	By        string            `json:"by"`
	Approval  *publish.Approval `json:"approval"`
	Lane      *closure          `json:"lane,omitempty"`
}

func (*attempted) kind() string { return "attempt" }

func (e *attempted) apply(ctx context.Context, tx *tx, key string) error {
	op, now := e.Operation, stamp(tx.at)
	_, err := tx.ExecContext(ctx, `INSERT INTO operations
		(op, what, intent, destination, content_id, revision, channel, account, text, state, attempts, rejections, first, last, receipt, looked, evidence)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 0, $12, $12, '{}', '', '[]')
		ON CONFLICT (op) DO UPDATE SET state = excluded.state, attempts = excluded.attempts, last = excluded.last, text = excluded.text`,
		key, op.What, op.Intent, op.Destination, op.ContentID, op.Revision, op.Channel, op.Account, op.Text, publish.InFlight, e.Number, now)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO attempts (op, number, by, approval, started, state, ended, status, receipt, error) VALUES ($1, $2, $3, $4, $5, $6, '', 0, '{}', '')`,
		key, e.Number, e.By, text(e.Approval), now, publish.InFlight)
	if err != nil {
		return err
	}
	return e.Lane.apply(ctx, tx, key)
}

// claim is one transaction: who commits it may send.
func (l *Ledger) claim(ctx context.Context, op publish.Operation, a *publish.Approval) (was publish.Prior, number int, err error) {
	err = l.within(ctx, func(tx *tx) error {
		if was, err = prior(ctx, tx, op.Key()); err != nil {
			return err
		}
		approved := a != nil && a.Operation == op.Key() && a.Attempt == was.Attempts
		if was.State == publish.Done || was.State != publish.NotAttempted && !approved {
			return claimed(ctx, tx, op, was)
		}
		if err := admissible(ctx, tx, op); err != nil {
			return err
		}
		number = was.Attempts + 1
		return add(ctx, tx, string(op.Key()), &attempted{Operation: op, Number: number, By: l.who, Approval: a, Lane: entering(op, tx.at)})
	})
	return was, number, err
}

func claimed(ctx context.Context, tx *tx, op publish.Operation, was publish.Prior) error {
	e := &ClaimedError{What: op.What, State: was.State, Attempt: was.Attempts, Since: was.Last}
	err := tx.QueryRowContext(ctx, `SELECT by FROM attempts WHERE op = $1 AND number = $2`, op.Key(), was.Attempts).Scan(&e.By)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("ledger: %w", err)
	}
	return e
}

// resolved tells how an attempt ended.
type resolved struct {
	Number    int                  `json:"number"`
	State     publish.AttemptState `json:"state"`
	Status    int                  `json:"status"`
	Receipt   publish.Receipt      `json:"receipt"`
	Error     string               `json:"error"`
	Condition publish.Condition    `json:"condition,omitempty"`
	Deferred  bool                 `json:"deferred,omitempty"` // put off by the remote
	Lane      *closure             `json:"lane,omitempty"`
}

func (e *resolved) kind() string {
	switch e.State {
	case publish.Done:
		return "sent"
	case publish.Failed:
		return "failed"
	case publish.NotPerformed:
		return "not_performed"
	default:
		return "unknown"
	}
}

// apply: an operation that is done stays done; and the end of an attempt that another has followed says nothing
// about that one, unless it says done.
func (e *resolved) apply(ctx context.Context, tx *tx, key string) error {
	_, err := tx.ExecContext(ctx, `UPDATE attempts SET state = $1, ended = $2, status = $3, receipt = $4, error = $5 WHERE op = $6 AND number = $7`,
		e.State, stamp(tx.at), e.Status, text(e.Receipt), e.Error, key, e.Number)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE operations SET state = $1, receipt = $2, condition = $3, rejections = rejections + $4, deferrals = deferrals + $5
		WHERE op = $6 AND state <> $7 AND (attempts = $8 OR $9)`,
		e.State, text(e.Receipt), e.Condition, count(e.State == publish.Failed), count(e.Deferred), key, publish.Done, e.Number, e.State == publish.Done)
	if err != nil {
		return err
	}
	return e.Lane.apply(ctx, tx, key)
}

// resolve writes down how an attempt ended.
func (l *Ledger) resolve(ctx context.Context, op publish.Operation, a publish.Attempted) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resolveTimeout)
	defer cancel()
	e := &resolved{Number: a.Number, State: a.State, Status: a.Receipt.Status, Receipt: a.Receipt}
	if t := a.Trouble; t != nil {
		e.Status, e.Error, e.Condition, e.Deferred = t.Status, summary(t.Error()), t.Condition, t.Kind == publish.Deferred
	}
	return l.within(ctx, func(tx *tx) error {
		e.Lane = leaving(op, a.Trouble, tx.at)
		return add(ctx, tx, string(op.Key()), e)
	})
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// confirmed tells that an operation's effect was found.
type confirmed struct {
	Operation publish.Operation  `json:"operation"`
	Receipt   publish.Receipt    `json:"receipt"`
	Evidence  []publish.Evidence `json:"evidence"`
	Lane      *closure           `json:"lane,omitempty"`
}

func (*confirmed) kind() string { return "confirmed" }

func (e *confirmed) apply(ctx context.Context, tx *tx, key string) error {
	op, now := e.Operation, stamp(tx.at)
	_, err := tx.ExecContext(ctx, `INSERT INTO operations
		(op, what, intent, destination, content_id, revision, channel, account, text, state, attempts, rejections, first, last, receipt, looked, evidence)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, 0, $11, $11, $12, $11, $13)
		ON CONFLICT (op) DO UPDATE SET state = excluded.state, receipt = excluded.receipt, looked = excluded.looked, evidence = excluded.evidence`,
		key, op.What, op.Intent, op.Destination, op.ContentID, op.Revision, op.Channel, op.Account, op.Text, publish.Done, now, text(e.Receipt), text(e.Evidence))
	if err != nil {
		return err
	}
	return e.Lane.apply(ctx, tx, key)
}

// Confirm writes down that a look found the operation's effect, whoever brought it about.
func (l *Ledger) Confirm(ctx context.Context, op publish.Operation, r publish.Receipt, e []publish.Evidence) error {
	return l.within(ctx, func(tx *tx) error {
		return add(ctx, tx, string(op.Key()), &confirmed{Operation: op, Receipt: r, Evidence: e, Lane: leaving(op, nil, tx.at)})
	})
}

// observed tells what a look saw.
type observed struct {
	Presence publish.Presence   `json:"presence"`
	Evidence []publish.Evidence `json:"evidence"`
}

func (*observed) kind() string { return "reconciled" }

func (e *observed) apply(ctx context.Context, tx *tx, key string) error {
	_, err := tx.ExecContext(ctx, `UPDATE operations SET looked = $1, evidence = $2 WHERE op = $3`, stamp(tx.at), text(e.Evidence), key)
	return err
}

// Observe writes down what a look saw of an operation that was attempted.
func (l *Ledger) Observe(ctx context.Context, key publish.OperationKey, seen publish.Presence, e []publish.Evidence) error {
	return l.within(ctx, func(tx *tx) error {
		return add(ctx, tx, string(key), &observed{Presence: seen, Evidence: e})
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
		FROM operations WHERE intent = $1 ORDER BY first, op`, key)
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
