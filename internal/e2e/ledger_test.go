package e2e

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"colophon/internal/devenv"
	"colophon/internal/ledger"
	"colophon/internal/ledger/ledgertest"
	"colophon/internal/ledger/postgrestest"
	"colophon/internal/sandbox/fault"
	"colophon/publish"
)

// TestTwoWorkersShareALedgerOnPostgres: one is killed while its post is out and unanswered; the other goes on.
func TestTwoWorkersShareALedgerOnPostgres(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers; left out with -short")
	}
	w := startEnv(t, devenv.Options{Headless: true, Policy: policy, Ledger: postgrestest.Start(t).Database(t)})
	w.World.MastodonFaults.Add(fault.Rule{Method: "POST", Kind: fault.HangAfter})
	w.begin()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := w.World.MastodonFaults.Wait(ctx, 1); err != nil {
		t.Fatal(err)
	}
	first := w.worker
	w.work()
	second := w.worker
	w.worker = first
	w.kill()
	w.worker = second
	w.oneOfEverything(w.finish())
}

// TestALedgerIsExportedAndBroughtBack by the command line, from SQLite to PostgreSQL and back.
func TestALedgerIsExportedAndBroughtBack(t *testing.T) {
	t.Parallel()
	ctx, dir := context.Background(), folder(t, "", "", "")
	l, err := ledger.Open(ctx, filepath.Join(dir, "colophon.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Admit(ctx, ledgertest.Intent()); err != nil {
		t.Fatal(err)
	}
	if err := l.Confirm(ctx, ledgertest.Operation(), publish.Receipt{ID: "1"}, nil); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "colophon.yaml")
	source, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	into := func(where string) {
		t.Helper()
		if err := os.WriteFile(config, []byte(strings.Replace(string(source), "ledger: colophon.db", "ledger: "+where, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	must := func(want int, args ...string) (out, errOut string) {
		t.Helper()
		code, out, errOut := starter(t, []string{"TEMPORAL_ADDRESS=127.0.0.1:1"}, append(args, "--config", config)...)
		if code != want {
			t.Fatalf("%v: exit code %d, want %d: %s%s", args, code, want, out, errOut)
		}
		return out, errOut
	}
	exported, _ := must(0, "ledger", "export")
	if strings.Count(exported, "\n") != 2 || !strings.Contains(exported, `"kind":"admitted"`) {
		t.Fatalf("exported %s", exported)
	}
	file := filepath.Join(dir, "ledger.jsonl")
	for _, where := range []string{postgrestest.Start(t).Database(t), "again.db"} {
		out, _ := must(0, "ledger", "export", file, "--json")
		var answer struct{ Events int }
		if err := json.Unmarshal([]byte(out), &answer); err != nil || answer.Events != 2 {
			t.Errorf("export answered %s", out)
		}
		if raw, err := os.ReadFile(file); err != nil || string(raw) != exported {
			t.Errorf("%s was exported, %v; first %s", raw, err, exported)
		}
		into(where)
		must(0, "ledger", "import", file)
		if again, _ := must(0, "ledger", "export"); again != exported {
			t.Errorf("%s: exported %s, imported and exported again %s", where, exported, again)
		}
		if _, said := must(2, "ledger", "import", file); !strings.Contains(said, "empty ledger") {
			t.Errorf("a second import: %s", said)
		}
	}
	into("third.db")
	if err := os.WriteFile(file, []byte(exported[:len(exported)-10]), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, said := must(2, "ledger", "import", file); !strings.Contains(said, "ledger.jsonl: line 2: ") || !strings.Contains(said, "nothing was imported") {
		t.Errorf("an export that breaks off: %s", said)
	}
}
