package ledger_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"colophon/internal/ledger"
	"colophon/internal/ledger/ledgertest"
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

func TestSQLite(t *testing.T) {
	ledgertest.Run(t, func(t *testing.T) *ledger.Ledger { return open(t, filepath.Join(t.TempDir(), "a b?c", "ledger.db")) })
}

// The tests below run this test binary again as another process, told by the environment what to do.
func TestMain(m *testing.M) {
	path := os.Getenv("LEDGER_TEST_FILE")
	switch os.Getenv("LEDGER_TEST_CHILD") {
	case "die":
		attempt(path, func() { os.Exit(3) })
	case "claim":
		attempt(path, func() { fmt.Println("SENT") })
	default:
		os.Exit(m.Run())
	}
	os.Exit(0)
}

func attempt(path string, during func()) {
	ctx := context.Background()
	l, err := ledger.Open(ctx, path)
	if err != nil {
		fmt.Println("OPEN", err)
		os.Exit(1)
	}
	_, _ = l.Attempt(ctx, ledgertest.Operation(), nil, func(context.Context, publish.Prior) (publish.Receipt, error) {
		during()
		return publish.Receipt{ID: "1"}, nil
	})
}

func child(t *testing.T, what, path string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "LEDGER_TEST_CHILD="+what, "LEDGER_TEST_FILE="+path)
	return cmd
}

func TestAProcessThatDiesMidAttemptLeavesItInFlight(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	if err := child(t, "die", path).Run(); err == nil {
		t.Fatal("the child did not die")
	}
	l := open(t, path)
	p, err := l.Prior(context.Background(), ledgertest.Operation().Key())
	if err != nil || p.State != publish.InFlight || !p.State.Unsettled() || p.Attempts != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
}

func TestManyProcessesOneClaim(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	const processes = 6
	var outs [processes]bytes.Buffer
	var cmds [processes]*exec.Cmd
	for n := range cmds {
		cmds[n] = child(t, "claim", path)
		cmds[n].Stdout = &outs[n]
		if err := cmds[n].Start(); err != nil {
			t.Fatal(err)
		}
	}
	sent := 0
	for n := range cmds {
		if err := cmds[n].Wait(); err != nil {
			t.Errorf("process %d: %v %s", n, err, &outs[n])
		}
		sent += strings.Count(outs[n].String(), "SENT")
	}
	if sent != 1 {
		t.Errorf("%d processes sent", sent)
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
