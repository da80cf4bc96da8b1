package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
)

// The kinds of events, one a line in an export.
const (
	admitted     = "admitted"
	kept         = "kept"
	attempt      = "attempt"
	sent         = "sent"
	failed       = "failed"
	notPerformed = "not_performed"
	unknown      = "unknown"
	reconciled   = "reconciled"
	confirmed    = "confirmed"
	closed       = "closed"
	connected    = "connected"
)

// event appends to the log of events, in the transaction of what it tells.
func (l *Ledger) event(ctx context.Context, tx *sql.Tx, kind, key string, body any) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO events (at, kind, key, body) VALUES (?, ?, ?, ?)`, stamp(l.now()), kind, key, text(body))
	return err
}

// line is one event of an export.
type line struct {
	Event int64           `json:"event"`
	At    string          `json:"at"`
	Kind  string          `json:"kind"`
	Key   string          `json:"key"`
	Body  json.RawMessage `json:"body"`
}

// Export writes every event, oldest first, as JSON Lines: a file that only grows and diffs well.
func (l *Ledger) Export(ctx context.Context, w io.Writer) error {
	rows, err := l.db.QueryContext(ctx, `SELECT id, at, kind, key, body FROM events ORDER BY id`)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	defer rows.Close()
	out := json.NewEncoder(w)
	for rows.Next() {
		var e line
		var body string
		if err := rows.Scan(&e.Event, &e.At, &e.Kind, &e.Key, &body); err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
		e.Body = json.RawMessage(body)
		if err := out.Encode(e); err != nil {
			return err
		}
	}
	return rows.Err()
}

// secretShapes are what credentials look like in an error's text.
var secretShapes = regexp.MustCompile(`(?i)((bearer|basic|token)[ :=]+"?)[A-Za-z0-9._~+/=-]{8,}|\b(gh[pousr]_|github_pat_)[A-Za-z0-9_]{8,}`)

// maxSummary bounds an error's summary, in bytes.
const maxSummary = 500

// summary is an error's first part, with whatever looks like a credential masked.
func summary(s string) string {
	s = secretShapes.ReplaceAllString(s, "${1}[secret]")
	if len(s) > maxSummary {
		s = s[:maxSummary] + "…"
	}
	return s
}
