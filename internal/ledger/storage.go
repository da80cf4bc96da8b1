package ledger

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
	_ "modernc.org/sqlite" // the database/sql driver "sqlite"
)

//go:embed migrations
var migrations embed.FS

// storage is a database, and how it differs from others. Queries number their parameters $1, $2, …, which both
// databases take.
type storage struct {
	db      *sql.DB
	dialect goose.Dialect
	schema  string // the folder of its migrations
	alone   string // what a transaction begins with, so that no other writes at the same time
	options []goose.ProviderOption
}

// connections bounds how many a process uses: no two write at the same time anyway, and a server has few.
const connections = 8

func open(ctx context.Context, where string) (storage, error) {
	scheme, _, isURL := strings.Cut(where, "://")
	switch {
	case !isURL:
		return openSQLite(where)
	case scheme == "postgres" || scheme == "postgresql":
		return openPostgres(ctx, where)
	default:
		return storage{}, errors.New("not a kind of ledger; give a file's path, or postgres://USER@HOST/DATABASE")
	}
}

func openSQLite(path string) (storage, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return storage{}, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return storage{}, fmt.Errorf("%w; choose a file that can be written", err)
	}
	_ = f.Close()
	// Every transaction takes the write lock as it begins, so that a claim is decided once; a full sync
	// makes an attempt durable before its request leaves.
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+
		"?_txlock=immediate&_pragma=busy_timeout(20000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(ON)")
	return storage{db: db, dialect: goose.DialectSQLite3, schema: "migrations/sqlite", alone: `SELECT 1`}, err
}

// patience is how long a transaction waits for another, and how long one may stand idle before the server ends it:
// a machine that lost its power must not hold up the others.
const patience = 20 * time.Second

func openPostgres(ctx context.Context, dsn string) (storage, error) {
	c, err := pgx.ParseConfig(dsn) // whose errors mask a password
	if err != nil {
		return storage{}, err
	}
	for _, limit := range []string{"lock_timeout", "idle_in_transaction_session_timeout"} {
		c.RuntimeParams[limit] = fmt.Sprint(patience.Milliseconds())
	}
	if _, ok := c.RuntimeParams["application_name"]; !ok {
		c.RuntimeParams["application_name"] = "colophon"
	}
	one, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, uint64(patience.Seconds())))
	if err != nil {
		return storage{}, err
	}
	s := storage{
		db: stdlib.OpenDB(*c), dialect: goose.DialectPostgres, schema: "migrations/postgres",
		// Each statement after it sees what was committed before it was granted; readers are not held up.
		alone:   `LOCK TABLE events IN EXCLUSIVE MODE`,
		options: []goose.ProviderOption{goose.WithSessionLocker(one)},
	}
	var durable string
	if err := s.db.QueryRowContext(ctx, `SHOW synchronous_commit`).Scan(&durable); err != nil {
		_ = s.db.Close()
		return storage{}, err
	}
	if durable == "off" {
		_ = s.db.Close()
		return storage{}, errors.New("synchronous_commit is off: an attempt would not be durable before its request leaves; ALTER ROLE … SET synchronous_commit = on")
	}
	return s, nil
}

func (s storage) migrate(ctx context.Context) error {
	files, err := fs.Sub(migrations, s.schema)
	if err != nil {
		return err
	}
	// Two processes may open a new file at once: the second finds the lock taken, and then nothing to do.
	for try := 1; ; try++ {
		p, err := goose.NewProvider(s.dialect, s.db, files, s.options...)
		if err == nil {
			var due bool
			if due, err = p.HasPending(ctx); due {
				_, err = p.Up(ctx)
			}
		}
		if err == nil || try == 10 || ctx.Err() != nil {
			return err
		}
		time.Sleep(time.Duration(try) * 50 * time.Millisecond)
	}
}
