// Package ledger is the durable memory of everything that was attempted, and the only door through which
// a remote system is changed: an attempt's row is committed before its request leaves, and only then is
// the permit granted that the HTTP client demands.
//
// It outlives every run, and what Temporal forgets it keeps. It holds no credentials.
package ledger

import (
	"context"
	"database/sql"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // the database/sql driver "sqlite"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Ledger is an open ledger. It may be used by several goroutines, and its file by several processes.
type Ledger struct {
	db  *sql.DB
	now func() time.Time
	who string
}

// Option adjusts a ledger as it is opened.
type Option func(*Ledger)

// WithClock replaces the clock.
func WithClock(now func() time.Time) Option { return func(l *Ledger) { l.now = now } }

// Open opens the SQLite file at path, making it, and its folder, if need be, and brings its schema up to
// date. Both are readable by their owner alone.
func Open(ctx context.Context, path string, opts ...Option) (*Ledger, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w; choose a file that can be written", err)
	}
	_ = f.Close()
	// Every transaction takes the write lock as it begins, so that a claim is decided once; a full sync
	// makes an attempt durable before its request leaves.
	dsn := "file:" + (&url.URL{Path: path}).EscapedPath() +
		"?_txlock=immediate&_pragma=busy_timeout(20000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(ON)"
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("ledger %s: %w", path, err)
	}
	host, _ := os.Hostname()
	l := &Ledger{db: db, now: time.Now, who: fmt.Sprintf("%s:%d", host, os.Getpid())}
	for _, o := range opts {
		o(l)
	}
	if err := l.migrate(ctx); err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("ledger %s: %w", path, err)
	}
	return l, nil
}

func (l *Ledger) migrate(ctx context.Context) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	// Two processes may open a new file at once: the second finds the lock taken, and then nothing to do.
	for try := 1; ; try++ {
		p, err := goose.NewProvider(goose.DialectSQLite3, l.db, files)
		if err == nil {
			_, err = p.Up(ctx)
		}
		if err == nil || try == 10 || ctx.Err() != nil {
			return err
		}
		time.Sleep(time.Duration(try) * 50 * time.Millisecond)
	}
}

// Close closes the ledger.
func (l *Ledger) Close() error { return l.db.Close() }

// within runs f in one transaction.
func (l *Ledger) within(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	if err := f(tx); err != nil {
		_ = tx.Rollback()
		return err
	}
	if err := tx.Commit(); err != nil {
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

// text is v as JSON; the ledger's own types always marshal.
func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("ledger: %T does not marshal: %v", v, err))
	}
	return string(b)
}
