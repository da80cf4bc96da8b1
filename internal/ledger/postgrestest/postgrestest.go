// Package postgrestest starts a PostgreSQL server for tests, where one is installed.
package postgrestest

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the database/sql driver "pgx"
)

// Server is a server of a test's own: it listens on a socket in its own folder, and on no port. It does not survive a
// power cut, which makes it quick.
type Server struct {
	folder    string
	databases atomic.Int32
}

// Start starts a server, which ends with the test. The test is skipped where PostgreSQL is not installed.
func Start(t testing.TB) *Server {
	t.Helper()
	initdb, ok := program("initdb")
	if !ok {
		t.Skip("PostgreSQL is not installed: neither initdb on the PATH, nor /usr/lib/postgresql/*/bin")
	}
	folder, err := os.MkdirTemp("", "colophon-postgres-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	attributes := owner(t, folder)
	data := filepath.Join(folder, "data")
	run := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.SysProcAttr = folder, attributes
		return cmd
	}
	if out, err := run(initdb, "--pgdata", data, "--username", "colophon", "--auth", "trust", "--encoding", "UTF8", "--locale", "C.UTF-8", "--no-sync").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	said, err := os.Create(filepath.Join(folder, "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := run(filepath.Join(filepath.Dir(initdb), "postgres"), "-D", data, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "unix_socket_directories="+folder)
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGQUIT) // the server's word for: at once
		_ = cmd.Wait()
		_ = said.Close()
	})
	s := &Server{folder: folder}
	s.wait(t)
	return s
}

// program finds a program of the newest PostgreSQL.
func program(name string) (string, bool) {
	if path, err := exec.LookPath(name); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil && filepath.Base(path) == name {
			return path, true
		}
	}
	found, _ := filepath.Glob(filepath.Join("/usr/lib/postgresql", "*", "bin", name))
	if len(found) == 0 {
		return "", false
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
		return n
	}
	return slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) }), true
}

// owner gives the folder to whom the server runs as: it refuses to be root.
func owner(t testing.TB, folder string) *syscall.SysProcAttr {
	if os.Getuid() != 0 {
		return &syscall.SysProcAttr{}
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		t.Skipf("PostgreSQL does not run as root, and there is no user for it: %v", err)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	if err := os.Chown(folder, uid, gid); err != nil {
		t.Fatal(err)
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
}

func (s *Server) dsn(database string) string {
	return "postgres://colophon@/" + database + "?host=" + url.QueryEscape(s.folder)
}

func (s *Server) wait(t testing.TB) {
	t.Helper()
	var err error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if err = s.Exec("postgres", `SELECT 1`); err == nil {
			return
		}
	}
	said, _ := os.ReadFile(filepath.Join(s.folder, "log"))
	t.Fatalf("PostgreSQL does not answer: %v\n%s", err, strings.TrimSpace(string(said)))
}

// Exec runs one statement in a database.
func (s *Server) Exec(database, statement string) error {
	db, err := sql.Open("pgx", s.dsn(database))
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	_, err = db.ExecContext(ctx, statement)
	return err
}

// Database makes a new, empty database, and answers its URL.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("ledger%d", s.databases.Add(1))
	if err := s.Exec("postgres", "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	return s.dsn(name)
}
