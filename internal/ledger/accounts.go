package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"colophon/publish"
)

// connected tells what an account had published.
type connected struct{ publish.Backlog }

func (*connected) kind() string { return "connected" }

func (e *connected) apply(ctx context.Context, tx *tx, key string) error {
	newest := ""
	if len(e.Posts) > 0 {
		newest = plain(e.Posts[0].Receipt.ID)
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO accounts (destination, whole, reach, newest) VALUES ($1, $2, $3, $4)`, key, count(e.Whole), stamp(e.Reach), newest); err != nil {
		return err
	}
	for _, p := range e.Posts {
		for _, link := range p.Links {
			if _, err := tx.ExecContext(ctx, `INSERT INTO backlog (destination, link, receipt, created) VALUES ($1, $2, $3, $4)`, key, plain(publish.NormalURL(link)), text(p.Receipt), stamp(p.Created)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Connect keeps what an account had published when it was first met: the baseline, of which nothing is announced
// again. The first that is kept stands.
func (l *Ledger) Connect(ctx context.Context, b publish.Backlog) error {
	return l.within(ctx, func(tx *tx) error {
		known, err := account(ctx, tx, b.Destination)
		if err != nil || known.Known {
			return err
		}
		return add(ctx, tx, b.Destination, &connected{b})
	})
}

// Standing answers what is known of an account, and of a URL on it.
func (l *Ledger) Standing(ctx context.Context, destination, url string) (publish.Standing, error) {
	st, err := account(ctx, l.db, destination)
	if err != nil || !st.Known {
		return st, err
	}
	// What was sent since then is newer than the backlog.
	var receipt string
	err = l.db.QueryRowContext(ctx, `SELECT receipt FROM operations WHERE destination = $1 AND state = $2 AND attempts > 0 ORDER BY last DESC LIMIT 1`, destination, publish.Done).Scan(&receipt)
	if err == nil {
		var r publish.Receipt
		if err = json.Unmarshal([]byte(receipt), &r); err == nil {
			st.Newest = r.ID
		}
	}
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return st, fmt.Errorf("ledger: account %s: %w", destination, err)
	}
	rows, err := l.db.QueryContext(ctx, `SELECT receipt FROM backlog WHERE destination = $1 AND link = $2 ORDER BY created DESC`, destination, plain(publish.NormalURL(url)))
	if err != nil {
		return st, fmt.Errorf("ledger: account %s: %w", destination, err)
	}
	defer rows.Close()
	for rows.Next() {
		var r publish.Receipt
		if err := rows.Scan(&receipt); err != nil {
			return st, fmt.Errorf("ledger: account %s: %w", destination, err)
		}
		if err := json.Unmarshal([]byte(receipt), &r); err != nil {
			return st, fmt.Errorf("ledger: account %s: %w", destination, err)
		}
		st.Posted = append(st.Posted, r)
	}
	return st, rows.Err()
}

func account(ctx context.Context, q querier, destination string) (st publish.Standing, err error) {
	var whole int
	var reach string
	err = q.QueryRowContext(ctx, `SELECT whole, reach, newest FROM accounts WHERE destination = $1`, destination).Scan(&whole, &reach, &st.Newest)
	if errors.Is(err, sql.ErrNoRows) {
		return publish.Standing{}, nil
	}
	if err != nil {
		return publish.Standing{}, fmt.Errorf("ledger: account %s: %w", destination, err)
	}
	st.Known, st.Whole, st.Reach = true, whole == 1, unstamp(reach)
	return st, nil
}
