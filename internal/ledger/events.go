package ledger

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"
)

// change is what an event tells, and how the tables follow it. They change in no other way, so that the events
// rebuild them.
type change interface {
	kind() string
	apply(ctx context.Context, tx *tx, key string) error
}

// changes answers an empty change of a kind of event: one a line in an export.
var changes = map[string]func() change{
	"admitted":      func() change { return new(admitted) },
	"kept":          func() change { return new(kept) },
	"attempt":       func() change { return new(attempted) },
	"sent":          func() change { return new(resolved) },
	"failed":        func() change { return new(resolved) },
	"not_performed": func() change { return new(resolved) },
	"unknown":       func() change { return new(resolved) },
	"reconciled":    func() change { return new(observed) },
	"confirmed":     func() change { return new(confirmed) },
	"closed":        func() change { return new(closed) },
	"connected":     func() change { return new(connected) },
	"accepted":      func() change { return new(accepted) },
}

// event is one line of an export.
type event struct {
	Event int             `json:"event"` // 1, 2, 3, …
	At    string          `json:"at"`
	Kind  string          `json:"kind"`
	Key   string          `json:"key"` // what it is about: an intent, an operation, an account
	Body  json.RawMessage `json:"body"`
}

// add appends an event, and lets the tables follow what was written, as they will when it is read again.
func add(ctx context.Context, tx *tx, key string, c change) error {
	body := text(c)
	_, err := tx.ExecContext(ctx, `INSERT INTO events (id, at, kind, key, body) SELECT coalesce(max(id), 0) + 1, $1, $2, $3, $4 FROM events`,
		stamp(tx.at), c.kind(), key, body)
	if err == nil {
		err = follow(ctx, tx, c.kind(), key, body)
	}
	if err != nil {
		return fmt.Errorf("ledger: %s %s: %w", c.kind(), key, err)
	}
	return nil
}

// follow lets the tables follow an event.
func follow(ctx context.Context, tx *tx, kind, key, body string) error {
	empty, ok := changes[kind]
	if !ok {
		return fmt.Errorf("events of kind %q are not known; it may come from a later version", kind)
	}
	c := empty()
	if err := strict([]byte(body), c); err != nil {
		return err
	}
	if c.kind() != kind {
		return fmt.Errorf("a body of kind %q in an event of kind %q", c.kind(), kind)
	}
	return c.apply(ctx, tx, key)
}

// Export writes every event, oldest first, as JSON Lines: a file that only grows and diffs well. It answers how many.
func (l *Ledger) Export(ctx context.Context, w io.Writer) (events int, err error) {
	rows, err := l.db.QueryContext(ctx, `SELECT id, at, kind, key, body FROM events ORDER BY id`)
	if err != nil {
		return events, fmt.Errorf("ledger: %w", err)
	}
	defer rows.Close()
	out := json.NewEncoder(w)
	for rows.Next() {
		var e event
		var body string
		if err := rows.Scan(&e.Event, &e.At, &e.Kind, &e.Key, &body); err != nil {
			return events, fmt.Errorf("ledger: %w", err)
		}
		e.Body = json.RawMessage(body)
		if err := out.Encode(e); err != nil {
			return events, err
		}
		events++
	}
	return events, rows.Err()
}

// ImportError says which line of an export cannot be taken; then nothing of it has been.
type ImportError struct {
	Line int // from 1
	Err  error
}

func (e *ImportError) Error() string {
	return fmt.Sprintf("line %d: %v; nothing was imported", e.Line, e.Err)
}

// Unwrap answers what is wrong with the line.
func (e *ImportError) Unwrap() error { return e.Err }

// ErrNotEmpty refuses an import into a ledger that holds something.
var ErrNotEmpty = errors.New("an import needs an empty ledger")

// Import reads what Export has written into an empty ledger, which is then equal to the one exported: all of it or,
// with an *ImportError, nothing. It answers how many events there were.
func (l *Ledger) Import(ctx context.Context, r io.Reader) (events int, err error) {
	err = l.within(ctx, func(tx *tx) error {
		var last int64
		if err := tx.QueryRowContext(ctx, `SELECT coalesce(max(id), 0) FROM events`).Scan(&last); err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
		if last > 0 {
			return fmt.Errorf("ledger: %w, and this one holds %d events", ErrNotEmpty, last)
		}
		lines := bufio.NewReader(r)
		for ; ; events++ {
			b, err := lines.ReadBytes('\n')
			if err != nil && (err != io.EOF || len(b) > 0) {
				if err == io.EOF {
					err = errors.New("it breaks off; export it again")
				}
				return &ImportError{Line: events + 1, Err: err}
			}
			if err == io.EOF {
				return nil
			}
			if err := replay(ctx, tx, events+1, b); err != nil {
				return &ImportError{Line: events + 1, Err: err}
			}
		}
	})
	if err != nil {
		return 0, err
	}
	return events, nil
}

func replay(ctx context.Context, tx *tx, n int, b []byte) error {
	var e event
	if err := strict(b, &e); err != nil {
		return err
	}
	if e.Event != n {
		return fmt.Errorf("event %d, where %d is due; lines are missing, or out of order", e.Event, n)
	}
	if tx.at = unstamp(e.At); stamp(tx.at) != e.At {
		return fmt.Errorf("%q is no time of a ledger", e.At)
	}
	tx.now = tx.at
	if _, err := tx.ExecContext(ctx, `INSERT INTO events (id, at, kind, key, body) VALUES ($1, $2, $3, $4, $5)`, n, e.At, e.Kind, e.Key, string(e.Body)); err != nil {
		return err
	}
	return follow(ctx, tx, e.Kind, e.Key, string(e.Body))
}

// strict decodes one JSON value, and refuses what it does not know.
func strict(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if d.More() {
		return errors.New("more than one JSON value")
	}
	return nil
}

// secretShapes are what credentials look like in an error's text.
var secretShapes = regexp.MustCompile(`(?i)((bearer|basic|token)[ :=]+"?)[A-Za-z0-9._~+/=-]{8,}|\b(gh[pousr]_|github_pat_)[A-Za-z0-9_]{8,}`)

// maxSummary bounds an error's summary, in bytes.
const maxSummary = 500

// summary is an error's first part, with whatever looks like a credential masked.
func summary(s string) string {
	s = plain(secretShapes.ReplaceAllString(s, "${1}[secret]"))
	if len(s) > maxSummary {
		s = strings.ToValidUTF8(s[:maxSummary], "") + "…"
	}
	return s
}

// plain is a remote's text without the bytes that no column takes.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r == 0 {
			return utf8.RuneError
		}
		return r // which RuneError is for each byte that is not UTF-8, as in JSON
	}, s)
}
