package ledger_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"colophon/internal/ledger"
	"colophon/internal/ledger/ledgertest"
	"colophon/internal/ledger/postgrestest"
	"colophon/publish"
)

func open(t *testing.T, path string) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// storages runs f on each kind of storage; where answers a new ledger's place.
func storages(t *testing.T, f func(t *testing.T, where func(t *testing.T) string)) {
	t.Run("sqlite", func(t *testing.T) {
		f(t, func(t *testing.T) string { return filepath.Join(t.TempDir(), "a b?c", "ledger.db") })
	})
	t.Run("postgres", func(t *testing.T) {
		server := postgrestest.Start(t)
		f(t, func(t *testing.T) string { return server.Database(t) })
	})
}

func TestStorage(t *testing.T) {
	storages(t, func(t *testing.T, where func(t *testing.T) string) {
		ledgertest.Run(t, func(t *testing.T) *ledger.Ledger { return open(t, where(t)) }, dump)
	})
}

// dump is every row of every table.
func dump(t *testing.T, l *ledger.Ledger) string {
	t.Helper()
	var out strings.Builder
	for _, table := range slices.Sorted(maps.Keys(ledger.Columns)) {
		rows, err := ledger.DB(l).Query("SELECT * FROM " + table + " ORDER BY " + ledger.Columns[table])
		if err != nil {
			t.Fatal(err)
		}
		columns, _ := rows.Columns()
		for rows.Next() {
			row := make([]any, len(columns))
			for n := range row {
				row[n] = new(any)
			}
			if err := rows.Scan(row...); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&out, "%s:", table)
			for n, c := range columns {
				v := *row[n].(*any)
				if b, ok := v.([]byte); ok {
					v = string(b)
				}
				fmt.Fprintf(&out, " %s=%v", c, v)
			}
			out.WriteString("\n")
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

// TestALedgerMovesFromOneStorageToTheOther: what SQLite exported, PostgreSQL holds, and the other way round.
func TestALedgerMovesFromOneStorageToTheOther(t *testing.T) {
	first := open(t, filepath.Join(t.TempDir(), "ledger.db"))
	if _, err := first.Admit(context.Background(), ledgertest.Intent()); err != nil {
		t.Fatal(err)
	}
	if _, err := first.Attempt(context.Background(), ledgertest.Operation(), nil, func(context.Context, publish.Prior) (publish.Receipt, error) {
		return publish.Receipt{ID: "1"}, nil
	}); err != nil {
		t.Fatal(err)
	}
	second, third := open(t, postgrestest.Start(t).Database(t)), open(t, filepath.Join(t.TempDir(), "again.db"))
	var exports [3]bytes.Buffer
	for n, l := range []*ledger.Ledger{first, second, third} {
		if n > 0 {
			if _, err := l.Import(context.Background(), bytes.NewReader(exports[n-1].Bytes())); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := l.Export(context.Background(), &exports[n]); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(exports[n].Bytes(), exports[0].Bytes()) {
			t.Errorf("ledger %d exports\n%s, the first\n%s", n+1, &exports[n], &exports[0])
		}
	}
}

// The tests below run this test binary again as another process, told by the environment what to do.
func TestMain(m *testing.M) {
	where := os.Getenv("LEDGER_TEST_WHERE")
	switch os.Getenv("LEDGER_TEST_CHILD") {
	case "die":
		l := openOrExit(where)
		attempt(l, ledgertest.Operation(), func() { os.Exit(3) })
	case "claim":
		attempt(openOrExit(where), ledgertest.Operation(), func() { fmt.Println("SENT") })
	case "deliver":
		l := openOrExit(where)
		send("ready")
		var all sync.WaitGroup
		for n := range deliveries {
			all.Go(func() { attempt(l, delivery(n), func() { send(strconv.Itoa(n)) }) })
		}
		all.Wait()
	default:
		os.Exit(m.Run())
	}
	os.Exit(0)
}

func openOrExit(where string) *ledger.Ledger {
	l, err := ledger.Open(context.Background(), where)
	if err != nil {
		fmt.Println("OPEN", err)
		os.Exit(1)
	}
	return l
}

func attempt(l *ledger.Ledger, op publish.Operation, during func()) {
	_, err := l.Attempt(context.Background(), op, nil, func(context.Context, publish.Prior) (publish.Receipt, error) {
		during()
		return publish.Receipt{ID: "1"}, nil
	})
	if claimed := (*ledger.ClaimedError)(nil); err != nil && !errors.As(err, &claimed) {
		fmt.Println("ATTEMPT", err)
		os.Exit(1)
	}
}

// send posts a delivery to the remote, which counts.
func send(what string) {
	resp, err := http.Post(os.Getenv("LEDGER_TEST_REMOTE")+"/"+what, "text/plain", nil)
	if err != nil {
		fmt.Println("SEND", err)
		os.Exit(1)
	}
	_ = resp.Body.Close()
}

const deliveries = 500

func delivery(n int) publish.Operation {
	o := ledgertest.Operation()
	o.ContentID = fmt.Sprintf("media-001:2026-10-04:article-%d", n/5)
	o.Channel = []string{"bluesky", "devto", "indexnow", "mastodon", "x"}[n%5]
	o.Destination = o.Channel + "/1"
	return o
}

func child(t *testing.T, what, where string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "LEDGER_TEST_CHILD="+what, "LEDGER_TEST_WHERE="+where)
	return cmd
}

// together runs as many children at once, and answers the lines that they printed.
func together(t *testing.T, processes int, what, where string) []string {
	t.Helper()
	outs, cmds := make([]bytes.Buffer, processes), make([]*exec.Cmd, processes)
	for n := range cmds {
		cmds[n] = child(t, what, where)
		cmds[n].Stdout, cmds[n].Stderr = &outs[n], &outs[n]
		if err := cmds[n].Start(); err != nil {
			t.Fatal(err)
		}
	}
	var lines []string
	for n := range cmds {
		if err := cmds[n].Wait(); err != nil {
			t.Errorf("process %d: %v %s", n, err, &outs[n])
		}
		lines = append(lines, strings.Split(strings.TrimSpace(outs[n].String()), "\n")...)
	}
	return lines
}

func TestAProcessThatDiesMidAttemptLeavesItInFlight(t *testing.T) {
	storages(t, func(t *testing.T, place func(t *testing.T) string) {
		where := place(t)
		if err := child(t, "die", where).Run(); err == nil {
			t.Fatal("the child did not die")
		}
		l := open(t, where)
		p, err := l.Prior(context.Background(), ledgertest.Operation().Key())
		if err != nil || p.State != publish.InFlight || !p.State.Unsettled() || p.Attempts != 1 {
			t.Fatalf("%+v, %v", p, err)
		}
	})
}

// TestManyProcessesOneClaim: they also open, and make, the ledger at once.
func TestManyProcessesOneClaim(t *testing.T) {
	storages(t, func(t *testing.T, place func(t *testing.T) string) {
		sent := 0
		for _, line := range together(t, 6, "claim", place(t)) {
			sent += strings.Count(line, "SENT")
		}
		if sent != 1 {
			t.Errorf("%d processes sent", sent)
		}
	})
}

// TestTwoProcessesRaceForEveryDelivery: both want all five hundred, all at once; the remote counts.
func TestTwoProcessesRaceForEveryDelivery(t *testing.T) {
	storages(t, func(t *testing.T, place func(t *testing.T) string) {
		var mu sync.Mutex
		sent := map[string]int{}
		var ready sync.WaitGroup
		ready.Add(2)
		remote := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/ready" { // both begin when both are
				ready.Done()
				ready.Wait()
				return
			}
			mu.Lock()
			defer mu.Unlock()
			sent[r.URL.Path]++
		}))
		defer remote.Close()
		t.Setenv("LEDGER_TEST_REMOTE", remote.URL)
		where := place(t)
		if said := strings.Join(together(t, 2, "deliver", where), "\n"); strings.TrimSpace(said) != "" {
			t.Errorf("the processes said %s", said)
		}
		if len(sent) != deliveries {
			t.Errorf("%d deliveries were sent, not %d", len(sent), deliveries)
		}
		for path, n := range sent {
			if n != 1 {
				t.Errorf("%s was sent %d times", path, n)
			}
		}
		by := map[string]int{}
		rows, err := ledger.DB(open(t, where)).Query(`SELECT by FROM attempts WHERE state = 'done'`)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var who string
			if err := rows.Scan(&who); err != nil {
				t.Fatal(err)
			}
			by[who]++
		}
		if len(by) != 2 {
			t.Errorf("it was no race: %v", by)
		}
	})
}

func TestWhatCannotBeALedgerIsAClearError(t *testing.T) {
	for where, says := range map[string]string{
		"mysql://u@example.org/d":           "postgres://USER@HOST/DATABASE",
		"postgres://u:geheim@127.0.0.1:1/d": "connect",
		"postgres://u:geheim@[::1/d":        "parse",
	} {
		_, err := ledger.Open(context.Background(), where)
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: %v", where, err)
		}
	}
}

// TestAServerThatForgetsCommitsIsRefused: an attempt has to be durable before its request leaves.
func TestAServerThatForgetsCommitsIsRefused(t *testing.T) {
	server := postgrestest.Start(t)
	where := server.Database(t)
	if err := server.Exec("postgres", `ALTER ROLE colophon SET synchronous_commit = off`); err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.Open(context.Background(), where); err == nil || !strings.Contains(err.Error(), "synchronous_commit") {
		t.Errorf("%v", err)
	}
}

func TestAFileThatCannotBeWrittenIsAClearError(t *testing.T) {
	_, err := ledger.Open(context.Background(), t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "ledger") {
		t.Errorf("a folder as ledger: %v", err)
	}
}

// TestAShorterLimitDoesNotOpenWhatALongerOneClosed: an attempt that was held up for longer than its lease comes
// back with a limit of a minute, after another has met one of an hour.
func TestAShorterLimitDoesNotOpenWhatALongerOneClosed(t *testing.T) {
	ctx, clock := context.Background(), time.Now()
	l, err := ledger.Open(ctx, filepath.Join(t.TempDir(), "ledger.db"), ledger.WithClock(func() time.Time { return clock }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	op := func(name string) publish.Operation {
		o := ledgertest.Operation()
		o.ContentID, o.Lane = name, publish.Lane{Name: "example/blog"}
		return o
	}
	limit := func(after time.Duration) (publish.Receipt, error) {
		return publish.Receipt{}, &publish.Trouble{Kind: publish.Deferred, Detail: "slow down", After: after}
	}
	_, err = l.Attempt(ctx, op("slow"), nil, func(context.Context, publish.Prior) (publish.Receipt, error) {
		clock = clock.Add(time.Minute)
		if _, err := l.Attempt(ctx, op("quick"), nil, func(context.Context, publish.Prior) (publish.Receipt, error) { return limit(time.Hour) }); err != nil {
			t.Error(err)
		}
		return limit(time.Minute)
	})
	if err != nil {
		t.Fatal(err)
	}
	var busy *publish.BusyError
	_, err = l.Attempt(ctx, op("next"), nil, func(context.Context, publish.Prior) (publish.Receipt, error) { return publish.Receipt{ID: "1"}, nil })
	if !errors.As(err, &busy) || busy.After < 59*time.Minute {
		t.Errorf("%v", err)
	}
}
