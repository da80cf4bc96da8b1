package ledger

import (
	"context"
	"fmt"
	"slices"

	"colophon/publish"
)

// accepted tells which pages an audit was told to let be, and by whom.
type accepted struct {
	URLs []string `json:"urls"`
	By   string   `json:"by"`
}

func (*accepted) kind() string { return "accepted" }

func (e *accepted) apply(ctx context.Context, tx *tx, _ string) error {
	for _, u := range e.URLs {
		if _, err := tx.ExecContext(ctx, `INSERT INTO accepted (link) VALUES ($1) ON CONFLICT (link) DO NOTHING`, plain(publish.NormalURL(u))); err != nil {
			return err
		}
	}
	return nil
}

// Accept lets pages be that are live and were announced nowhere.
func (l *Ledger) Accept(ctx context.Context, by string, urls []string) error {
	if len(urls) == 0 {
		return nil
	}
	return l.within(ctx, func(tx *tx) error {
		return add(ctx, tx, "audit", &accepted{URLs: slices.Sorted(slices.Values(urls)), By: by})
	})
}

// Accepted are the pages, in their normal form, that an audit was told to let be.
func (l *Ledger) Accepted(ctx context.Context) (map[string]bool, error) {
	return l.links(ctx, `SELECT link FROM accepted`)
}

// Backlog are the links, in their normal form, that the accounts had posted before they were connected.
func (l *Ledger) Backlog(ctx context.Context) (map[string]bool, error) {
	return l.links(ctx, `SELECT DISTINCT link FROM backlog`)
}

func (l *Ledger) links(ctx context.Context, query string) (map[string]bool, error) {
	rows, err := l.db.QueryContext(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	defer rows.Close()
	out := map[string]bool{}
	for rows.Next() {
		var link string
		if err := rows.Scan(&link); err != nil {
			return nil, fmt.Errorf("ledger: %w", err)
		}
		out[link] = true
	}
	return out, rows.Err()
}
