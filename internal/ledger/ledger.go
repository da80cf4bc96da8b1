// Package ledger is the durable memory of everything that was attempted, and the only door through which
// a remote system is changed: an attempt's row is committed before its request leaves, and only then is
// the permit granted that the HTTP client demands.
//
// It outlives every run, and what Temporal forgets it keeps. It holds no credentials.
//
// Its storage is SQLite or PostgreSQL, by one SQL. Every change is an event first; the tables follow the events, and
// Import rebuilds them from those alone.
package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"
)

// Ledger is an open ledger. It may be used by several goroutines, and what it is kept in by several processes.
type Ledger struct {
	storage
	now func() time.Time
	who string
}

// Option adjusts a ledger as it is opened.
type Option func(*Ledger)

// WithClock replaces the clock.
func WithClock(now func() time.Time) Option { return func(l *Ledger) { l.now = now } }

// Open opens the ledger kept in the SQLite file whose path is given, or in the PostgreSQL database at
// postgres://USER@HOST/DATABASE. A file, and its folder, are made if need be, readable by their owner alone. The
// schema is brought up to date.
func Open(ctx context.Context, where string, opts ...Option) (*Ledger, error) {
	s, err := open(ctx, where)
	if err != nil {
		return nil, fmt.Errorf("ledger %s: %w", named(where), err)
	}
	s.db.SetMaxOpenConns(connections)
	host, _ := os.Hostname()
	l := &Ledger{storage: s, now: time.Now, who: fmt.Sprintf("%s:%d", host, os.Getpid())}
	for _, o := range opts {
		o(l)
	}
	if err := l.migrate(ctx); err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("ledger %s: %w", named(where), err)
	}
	return l, nil
}

// named is where a ledger is, without a password.
func named(where string) string {
	scheme, _, isURL := strings.Cut(where, "://")
	if !isURL {
		return where
	}
	if u, err := url.Parse(where); err == nil {
		return u.Redacted()
	}
	return scheme + "://…"
}

// Close closes the ledger.
func (l *Ledger) Close() error { return l.db.Close() }

// tx is a transaction. No other writes at the same time, and all that it writes happens at one moment.
type tx struct {
	*sql.Tx
	now time.Time // by the clock
	at  time.Time // the same, as a stamp can hold it; never earlier
}

// within runs f in one transaction.
func (l *Ledger) within(ctx context.Context, f func(*tx) error) error {
	t, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	if _, err := t.ExecContext(ctx, l.alone); err != nil {
		_ = t.Rollback()
		return fmt.Errorf("ledger: %w", err)
	}
	now := l.now()
	if err := f(&tx{Tx: t, now: now, at: up(now)}); err != nil {
		_ = t.Rollback()
		return err
	}
	if err := t.Commit(); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

// stamp is the ledger's form of a time: RFC 3339 in UTC, which also sorts.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

func unstamp(s string) time.Time {
	t, _ := time.Parse(time.RFC3339, s)
	return t
}

// up rounds up to what a stamp can hold, so that no lane opens early.
func up(t time.Time) time.Time {
	return t.Add(time.Millisecond - time.Nanosecond).Truncate(time.Millisecond)
}

// text is v as JSON; the ledger's own types always marshal.
func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("ledger: %T does not marshal: %v", v, err))
	}
	return string(b)
}
