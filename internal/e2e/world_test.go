package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"colophon/internal/devenv"
	"colophon/internal/ledger"
	"colophon/internal/sandbox"
	"colophon/internal/sandbox/fault"
	"colophon/publish"

	enumspb "go.temporal.io/api/enums/v1"
)

// built is the folder of the programs, once they are.
var built string

// programs builds the programs, once, and answers the folder that they are in.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "colophon-e2e-")
	if err != nil {
		return "", err
	}
	built = dir
	if out, err := exec.Command("go", "build", "-o", dir, "colophon/worker", "colophon/starter").CombinedOutput(); err != nil {
		return dir, fmt.Errorf("build: %w\n%s", err, out)
	}
	return dir, nil
})

func program(t *testing.T, name string) string {
	t.Helper()
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, name)
}

func TestMain(m *testing.M) {
	flag.Parse()
	// These tests wait more than they work: run more of them side by side than there are cores.
	_ = flag.Set("test.parallel", "16")
	dir, err := os.MkdirTemp("", "colophon-papers-")
	if err == nil {
		err = issue(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	names.install()

	code := m.Run()
	_ = os.RemoveAll(dir)
	if built != "" {
		_ = os.RemoveAll(built)
	}
	os.Exit(code)
}

const (
	key    = publish.Key("media-001:2026-10-04:idempotency")
	policy = "{quiet_period: 1s, look_gap: 1s, budget: 3, live_deadline: 2m, stray_delay: 1s}"
)

// few are the channels of most tests that start servers: what a delivery does is the same on all, which simulations show.
var few = []string{"indexnow", "mastodon"}

// world is an environment with a worker that can be killed.
type world struct {
	*devenv.Env
	t      *testing.T
	worker *exec.Cmd
	// repeatedPings is how many pings must have been sent again: a fault has lost that many answers.
	repeatedPings int
	log           *bytes.Buffer
	channels      []string // that the articles are announced on
}

func start(t *testing.T) *world {
	t.Helper()
	return startWith(t, true)
}

func startWith(t *testing.T, headless bool) *world {
	t.Helper()
	return startEnv(t, devenv.Options{Headless: headless, Policy: policy, Channels: few})
}

// startPolicy starts with another policy than the hurried one of most tests.
func startPolicy(t *testing.T, policy string) *world {
	t.Helper()
	return startEnv(t, devenv.Options{Headless: true, Policy: policy, Channels: few})
}

func startEnv(t *testing.T, o devenv.Options) *world {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a Temporal server; left out with -short")
	}
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 12*time.Minute)
	defer cancel()
	o.Dir, o.Progress, o.Log = t.TempDir(), os.Stderr, slog.New(slog.NewTextHandler(io.Discard, nil))
	env, err := devenv.Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{Env: env, t: t, log: &bytes.Buffer{}, channels: env.Calendar.Entries[0].Channels}
	t.Cleanup(func() {
		w.kill()
		_ = env.Close()
		if t.Failed() {
			t.Logf("the worker's log:\n%s", w.log)
		}
	})
	w.work()
	return w
}

// pace sets the least time between two changes to the repository, for workers that start from now on.
func (w *world) pace(gap time.Duration) {
	w.t.Helper()
	source, err := os.ReadFile(w.ConfigFile)
	if err != nil {
		w.t.Fatal(err)
	}
	paced := bytes.Replace(source, []byte("write_gap: 20ms"), fmt.Appendf(nil, "write_gap: %s", gap), 1)
	if bytes.Equal(paced, source) {
		w.t.Fatal("the configuration has no write_gap to set")
	}
	if err := os.WriteFile(w.ConfigFile, paced, 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// work starts the worker's program.
func (w *world) work() {
	w.t.Helper()
	w.worker = exec.Command(program(w.t, "worker"), "--config", w.ConfigFile)
	w.worker.Env = append(os.Environ(), "TEMPORAL_ADDRESS="+w.Temporal.Address())
	w.worker.Stderr = w.log
	if err := w.worker.Start(); err != nil {
		w.t.Fatal(err)
	}
}

// kill ends the worker as a power cut does.
func (w *world) kill() {
	if w.worker != nil && w.worker.ProcessState == nil {
		_ = w.worker.Process.Signal(syscall.SIGKILL)
		_ = w.worker.Wait()
	}
}

// killTemporal ends Temporal as a power cut does; the worker lives on.
func (w *world) killTemporal() {
	w.t.Helper()
	if err := w.Temporal.Kill(); err != nil {
		w.t.Fatal(err)
	}
}

// restartTemporal starts Temporal again, with what its file holds.
func (w *world) restartTemporal() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := w.Temporal.Restart(ctx); err != nil {
		w.t.Fatal(err)
	}
}

// starter runs the command line, and answers its exit code, output and errors.
func (w *world) starter(args ...string) (code int, out, errOut string) {
	return starter(w.t, []string{"TEMPORAL_ADDRESS=" + w.Temporal.Address()}, append(args, "--config", w.ConfigFile)...)
}

func starter(t *testing.T, env []string, args ...string) (code int, out, errOut string) {
	t.Helper()
	return run(t, env, program(t, "starter"), args...)
}

func run(t *testing.T, env []string, program string, args ...string) (code int, out, errOut string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), env...)
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s %v: %v", program, args, err)
	}
	return cmd.ProcessState.ExitCode(), o.String(), e.String()
}

// begin starts the intent by the command line.
func (w *world) begin() {
	w.t.Helper()
	if code, out, errOut := w.starter("publish", string(key), "--json"); code != 0 || !strings.Contains(out, `"started"`) {
		w.t.Fatalf("publish: %d %s %s", code, out, errOut)
	}
}

// beginAndStayMerged starts the intent, and holds it where it has merged and looks for its article, which the site
// does not show until its faults are cleared.
func (w *world) beginAndStayMerged(ctx context.Context) {
	w.t.Helper()
	w.World.SiteFaults.Add(fault.Rule{Path: "^/posts/", Times: -1, Kind: fault.StatusBefore, Status: 503})
	w.begin()
	if err := w.World.SiteFaults.Wait(ctx, 1); err != nil {
		w.t.Fatal(err)
	}
}

// finish waits for the terminal record.
func (w *world) finish() publish.Record {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	var rec publish.Record
	if err := w.Client.GetWorkflow(ctx, string(key), "").Get(ctx, &rec); err != nil {
		now, _ := w.record()
		w.t.Fatalf("the run did not end: %v\n%s", err, now.Markdown())
	}
	return rec
}

func (w *world) record() (publish.Record, error) { return w.recordOf(string(key)) }

func (w *world) recordOf(id string) (publish.Record, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var rec publish.Record
	v, err := w.Client.QueryWorkflow(ctx, id, "", publish.RecordQuery)
	if err == nil {
		err = v.Get(&rec)
	}
	return rec, err
}

// await waits until a run says that it waits for something, which begins as given, and whose move it is.
func (w *world) await(id, what string, owner string) publish.Record {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		rec, err := w.recordOf(id)
		if err == nil && rec.Waiting != nil && rec.Waiting.Owner == owner && strings.HasPrefix(rec.Waiting.For, what) {
			return rec
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("%s never waited for %s: %v\n%s", id, what, err, rec.Markdown())
		}
	}
}

// retry decides that what waits for a person in a delivery is tried again.
func (w *world) retry(id string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := w.Client.SignalWorkflow(ctx, id, "", publish.DecideName, publish.Decision{Step: publish.Syndicate, Action: publish.Retry, By: "Ada"}); err != nil {
		w.t.Fatal(err)
	}
}

// oneOfEverything checks, at the remote, what must hold after any interruption, and that the ledger holds
// one terminal record and no operation that is not done.
func (w *world) oneOfEverything(rec publish.Record) {
	w.t.Helper()
	a := w.World.Audit()
	raw, _ := json.Marshal(a)
	if a.Articles != 1 || a.Published != 1 || a.Commits != 1 || a.PullRequests != 1 || a.OpenPulls != 0 || a.Merges != 1 || a.Branches != 0 || a.Posts != len(w.channels)-1 || a.Pings != 1+w.repeatedPings ||
		a.Repeated != w.repeatedPings || a.Duplicates != w.repeatedPings {
		w.t.Errorf("not one of everything: %s", raw)
	}
	if plain, merges := w.World.GitHub.History(); len(plain) != 1 || plain[0] != string(rec.Plan.Commit) || len(merges) != 1 {
		w.t.Errorf("the base branch has %v and merges %v; the plan said %s", plain, merges, rec.Plan.Commit)
	}
	if rec.Outcome != publish.Passed || rec.State != publish.Syndicated {
		w.t.Errorf("the record says %s, %s:\n%s", rec.State, rec.Outcome, rec.Markdown())
	}
	l := w.ledger()
	p, known, err := l.Publication(context.Background(), key, 1)
	if err != nil || !known || p.Record == nil || p.Record.Outcome != publish.Passed {
		w.t.Errorf("the ledger has no terminal record: %+v, %v", p, err)
	}
	w.noSecrets(l)
	ops, err := l.Operations(context.Background(), key)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, op := range ops {
		if op.Prior.State != publish.Done {
			w.t.Errorf("%s is %s", op.Operation.What, op.Prior.State)
		}
	}
}

// noSecrets looks for the world's credentials wherever something is kept.
func (w *world) noSecrets(l *ledger.Ledger) {
	w.t.Helper()
	var kept bytes.Buffer
	if _, err := l.Export(context.Background(), &kept); err != nil {
		w.t.Fatal(err)
	}
	runs := []string{string(key)}
	for _, channel := range w.channels {
		runs = append(runs, publish.DeliveryID(key, channel))
	}
	for _, id := range runs {
		events := w.Client.GetWorkflowHistory(context.Background(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			e, err := events.Next()
			if err != nil {
				break // this run was deleted by its test
			}
			kept.WriteString(e.String())
		}
	}
	kept.Write(w.log.Bytes())
	for _, secret := range sandbox.Secrets {
		if strings.Contains(kept.String(), secret) {
			w.t.Errorf("%.12s… is in the ledger, a history or the log", secret)
		}
	}
}

func (w *world) ledger() *ledger.Ledger {
	w.t.Helper()
	l, err := ledger.Open(context.Background(), w.Config.Ledger)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = l.Close() })
	return l
}
