package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"colophon/publish"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

const planKind = "plan"

// admitted tells that a key was bound to its inputs.
type admitted struct{ publish.Intent }

func (*admitted) kind() string { return "admitted" }

func (e *admitted) apply(ctx context.Context, tx *tx, key string) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO publications (key, fingerprint, intent, repository, slug, path, first_seen) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		key, e.Fingerprint(), text(e.Intent), e.Repository, fold(e.Slug), fold(e.Path), stamp(tx.at))
	return err
}

// Admit binds an intent's key to its inputs, or answers what the key is bound to already. It fails with
// a *publish.ConflictError when the inputs differ, with a *publish.TakenError when another intent holds the slug or the
// path, and with a *publish.CorrectionError when what a revision corrects is not published; then nothing has changed.
func (l *Ledger) Admit(ctx context.Context, in publish.Intent) (a publish.Admission, err error) {
	err = l.within(ctx, func(tx *tx) error {
		known, ok, err := publication(ctx, tx, in.Key, in.Revision)
		if err != nil {
			return err
		}
		if ok {
			if d := publish.Differences(known.Intent, in); len(d) > 0 {
				return &publish.ConflictError{Key: in.Key, Differences: d}
			}
			if err := follows(ctx, tx, in); err != nil {
				return err
			}
			a = publish.Admission{Publication: known}
			return nil
		}
		if in.Revision > 1 {
			return &publish.CorrectionError{Key: in.Key, Revision: in.Revision, Why: "the article was never published from here; publish revision 1 first"}
		}
		if err := free(ctx, tx, in); err != nil {
			return err
		}
		a = publish.Admission{New: true, Publication: publish.Publication{Intent: in, Fingerprint: in.Fingerprint(), FirstSeen: tx.at}}
		return add(ctx, tx, string(in.Key), &admitted{in})
	})
	return a, err
}

// follows says why a revision does not follow the one before it, which must be published.
func follows(ctx context.Context, tx *tx, in publish.Intent) error {
	if in.Revision < 2 {
		return nil
	}
	was, _, err := publication(ctx, tx, in.Key, in.Revision-1)
	if err != nil || was.Record != nil && was.Record.Outcome == publish.Passed {
		return err
	}
	return &publish.CorrectionError{Key: in.Key, Revision: in.Revision, Why: fmt.Sprintf("revision %d, which it corrects, is not published", in.Revision-1)}
}

// free says which intent holds the slug or the path, if one does.
func free(ctx context.Context, tx *tx, in publish.Intent) error {
	for _, c := range []struct{ field, column, value string }{{"slug", "slug", in.Slug}, {"path", "path", in.Path}} {
		var by publish.Key
		err := tx.QueryRowContext(ctx, `SELECT key FROM publications WHERE repository = $1 AND `+c.column+` = $2`, in.Repository, fold(c.value)).Scan(&by)
		switch {
		case errors.Is(err, sql.ErrNoRows):
		case err != nil:
			return fmt.Errorf("ledger: %w", err)
		default:
			return &publish.TakenError{Key: in.Key, Field: c.field, Value: c.value, By: by}
		}
	}
	return nil
}

func fold(s string) string { return norm.NFC.String(cases.Fold().String(norm.NFC.String(s))) }

// Publication answers what the ledger knows of a revision of a key's article, of the newest that has begun if revision
// is 0; ok is false for an unknown key.
func (l *Ledger) Publication(ctx context.Context, key publish.Key, revision int) (p publish.Publication, ok bool, err error) {
	if revision == 0 {
		err = l.db.QueryRowContext(ctx, `SELECT coalesce(max(revision), 1) FROM kept WHERE key = $1`, key).Scan(&revision)
		if err != nil {
			return p, false, fmt.Errorf("ledger: %s: %w", key, err)
		}
	}
	return publication(ctx, l.db, key, revision)
}

// Publications lists every key that was ever admitted, oldest first.
func (l *Ledger) Publications(ctx context.Context) ([]publish.Publication, error) {
	rows, err := l.db.QueryContext(ctx, `SELECT key FROM publications ORDER BY first_seen, key`)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	defer rows.Close()
	var keys []publish.Key
	for rows.Next() {
		var k publish.Key
		if err := rows.Scan(&k); err != nil {
			return nil, fmt.Errorf("ledger: %w", err)
		}
		keys = append(keys, k)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	out := make([]publish.Publication, len(keys))
	for n, k := range keys {
		if out[n], _, err = publication(ctx, l.db, k, 1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// querier is a database or a transaction.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func publication(ctx context.Context, q querier, key publish.Key, revision int) (p publish.Publication, ok bool, err error) {
	var intent, seen string
	err = q.QueryRowContext(ctx, `SELECT intent, fingerprint, first_seen FROM publications WHERE key = $1`, key).Scan(&intent, &p.Fingerprint, &seen)
	if errors.Is(err, sql.ErrNoRows) {
		return p, false, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(intent), &p.Intent)
	}
	if err != nil {
		return p, false, fmt.Errorf("ledger: %s: %w", key, err)
	}
	p.FirstSeen = unstamp(seen)
	if err := optional(ctx, q, &p.Plan, `SELECT a.content FROM kept k JOIN artifacts a USING (digest) WHERE k.key = $1 AND k.revision = $2 AND k.kind = $3`, key, revision, planKind); err != nil {
		return p, false, err
	}
	err = optional(ctx, q, &p.Record, `SELECT record FROM records WHERE key = $1 AND revision = $2`, key, revision)
	return p, err == nil, err
}

// optional reads one JSON column into *v, and leaves it nil where there is no row.
func optional[T any](ctx context.Context, q querier, v **T, query string, args ...any) error {
	var raw []byte
	err := q.QueryRowContext(ctx, query, args...).Scan(&raw)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err == nil {
		*v = new(T)
		err = json.Unmarshal(raw, *v)
	}
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

// closed tells an intent's terminal record.
type closed struct {
	Revision int             `json:"revision"`
	Outcome  publish.Outcome `json:"outcome"`
	State    publish.State   `json:"state"`
	Record   json.RawMessage `json:"record"`
}

func (*closed) kind() string { return "closed" }

func (e *closed) apply(ctx context.Context, tx *tx, key string) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO records (key, revision, record, closed) VALUES ($1, $2, $3, $4)`, key, e.Revision, string(e.Record), stamp(tx.at))
	return err
}

// Settle writes the terminal record of an intent's revision. The first one stands, and is answered.
func (l *Ledger) Settle(ctx context.Context, r publish.Record) (publish.Record, error) {
	err := l.within(ctx, func(tx *tx) error {
		var first *publish.Record
		in := r.Intent
		if err := optional(ctx, tx, &first, `SELECT record FROM records WHERE key = $1 AND revision = $2`, in.Key, in.Revision); err != nil {
			return err
		}
		if first != nil {
			r = *first
			return nil
		}
		return add(ctx, tx, string(in.Key), &closed{Revision: in.Revision, Outcome: r.Outcome, State: r.State, Record: json.RawMessage(text(r))})
	})
	return r, err
}
