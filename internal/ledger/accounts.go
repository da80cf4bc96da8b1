package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"colophon/publish"
)

// Connect keeps what an account had published when it was first met: the baseline, of which nothing is announced
// again. The first that is kept stands.
func (l *Ledger) Connect(ctx context.Context, b publish.Backlog) error {
	return l.within(ctx, func(tx *sql.Tx) error {
		known, err := account(ctx, tx, b.Destination)
		if err != nil || known.Known {
			return err
		}
		newest := ""
		if len(b.Posts) > 0 {
			newest = b.Posts[0].Receipt.ID
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO accounts (destination, whole, reach, newest) VALUES (?, ?, ?, ?)`, b.Destination, count(b.Whole), stamp(b.Reach), newest); err != nil {
			return fmt.Errorf("ledger: connect %s: %w", b.Destination, err)
		}
		for _, p := range b.Posts {
			for _, link := range p.Links {
				if _, err := tx.ExecContext(ctx, `INSERT INTO backlog (destination, link, receipt, created) VALUES (?, ?, ?, ?)`, b.Destination, publish.NormalURL(link), text(p.Receipt), stamp(p.Created)); err != nil {
					return fmt.Errorf("ledger: connect %s: %w", b.Destination, err)
				}
			}
		}
		return l.event(ctx, tx, connected, b.Destination, b)
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
	err = l.db.QueryRowContext(ctx, `SELECT receipt FROM operations WHERE destination = ? AND state = ? AND attempts > 0 ORDER BY last DESC LIMIT 1`, destination, publish.Done).Scan(&receipt)
	if err == nil {
		var r publish.Receipt
		if err = json.Unmarshal([]byte(receipt), &r); err == nil {
			st.Newest = r.ID
		}
	}
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return st, fmt.Errorf("ledger: account %s: %w", destination, err)
	}
	rows, err := l.db.QueryContext(ctx, `SELECT receipt FROM backlog WHERE destination = ? AND link = ? ORDER BY created DESC`, destination, publish.NormalURL(url))
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
	err = q.QueryRowContext(ctx, `SELECT whole, reach, newest FROM accounts WHERE destination = ?`, destination).Scan(&whole, &reach, &st.Newest)
	if errors.Is(err, sql.ErrNoRows) {
		return publish.Standing{}, nil
	}
	if err != nil {
		return publish.Standing{}, fmt.Errorf("ledger: account %s: %w", destination, err)
	}
	st.Known, st.Whole, st.Reach = true, whole == 1, unstamp(reach)
	return st, nil
}
