package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	"colophon/activities"
	"colophon/internal/calendar"
	"colophon/internal/config"
	"colophon/internal/devenv"
	"colophon/internal/ledger"
	"colophon/internal/sandbox"
	"colophon/internal/sandbox/channels/mastodon"
	"colophon/internal/sandbox/fault"
	"colophon/internal/service"
	"colophon/publish"
	"colophon/workflows"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"
)

// boundary is one change that a run makes, as the wire sees it.
type boundary struct {
	server string
	fault.Change
}

func (b boundary) String() string { return b.server + " " + b.Method + " " + b.Path }

// death is where the process that makes a change dies.
type death string

// The deaths. The process is gone for good: its attempt stays in flight, nothing else of it is written.
const (
	lives       death = ""
	beforeCall  death = "dies before the call"
	afterEffect death = "dies after the effect, before the ledger"
	afterLedger death = "dies after the ledger, before it answers"
)

// faults are what goes wrong with the one request.
var faults = []fault.Rule{
	{Kind: fault.ResetBefore},
	{Kind: fault.ResetAfter},
	{Kind: fault.HangBefore, Delay: 20 * time.Millisecond},
	{Kind: fault.HangAfter, Delay: 20 * time.Millisecond},
	{Kind: fault.StatusBefore, Status: 500},
	{Kind: fault.StatusAfter, Status: 500},
	{Kind: fault.StatusBefore, Status: 502},
	{Kind: fault.StatusAfter, Status: 502},
	{Kind: fault.StatusBefore, Status: 503, RetryAfter: "5"},
	{Kind: fault.StatusAfter, Status: 503},
	{Kind: fault.StatusAfter, Status: 504},
	{Kind: fault.StatusAfter, Status: 408},
	{Kind: fault.StatusBefore, Status: 425},
	{Kind: fault.StatusBefore, Status: 429, RetryAfter: "7"},
	{Kind: fault.StatusBefore, Status: 429},
	{Kind: fault.StatusBefore, Status: 403, RetryAfter: "7"},
	{Kind: fault.CutBody},
	{Kind: fault.EmptyBody},
	{Kind: fault.WrongType},
	{Kind: fault.MissingID},
	{Kind: fault.Redirect},
	{Kind: fault.Redirect, Status: 301},
}

// TestBoundaries puts every fault on every change that a run makes, and lets the process die at each
// instant around it, on simulated time. The changes are those that a clean run is seen to make, so that
// one that is added later cannot be forgotten. Whatever happens, the run ends with one of everything; a
// named condition may ask a person first, whose answer is always retry.
func TestBoundaries(t *testing.T) {
	all := clean(t)
	var cases, duplicates, lost, unsettled atomic.Int32
	t.Run("cases", func(t *testing.T) {
		for n, b := range all {
			for _, f := range faults {
				for _, d := range []death{lives, afterLedger} {
					check(t, b, n, &f, d, &cases, &duplicates, &lost, &unsettled)
				}
			}
			for _, d := range []death{beforeCall, afterEffect, afterLedger} {
				check(t, b, n, nil, d, &cases, &duplicates, &lost, &unsettled)
			}
		}
	})
	fmt.Printf("boundaries: cases=%d duplicates=%d lost=%d unsettled=%d\n", cases.Load(), duplicates.Load(), lost.Load(), unsettled.Load())
	if cases.Load() < 300 {
		t.Errorf("only %d cases", cases.Load())
	}
}

func check(t *testing.T, b boundary, n int, f *fault.Rule, d death, cases, duplicates, lost, unsettled *atomic.Int32) {
	name := b.String()
	if f != nil {
		name += fmt.Sprintf(", %s %d %s", f.Kind, f.Status, f.RetryAfter)
	}
	if d != lives {
		name += ", " + string(d)
	}
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		cases.Add(1)
		s := simulate(t)
		if f != nil {
			rule := *f
			rule.Method, rule.Path = b.Method, "^"+regexp.QuoteMeta(b.Path)+"$"
			s.layers()[b.server].Add(rule)
		}
		s.ledger.at, s.ledger.death = int32(n), d
		rec, done := s.run()
		a := s.world.Audit()
		extra := a.Duplicates - a.Repeated
		missing := 0
		for _, got := range []int{a.Articles, a.Published, a.Merges, a.Posts, min(a.Pings, 1)} {
			missing += max(0, 1-got)
		}
		duplicates.Add(int32(extra))
		lost.Add(int32(missing))
		if !done || rec.Outcome != publish.Passed {
			unsettled.Add(1)
			t.Errorf("the run ended %q, waiting for %+v", rec.Outcome, rec.Waiting)
		}
		if extra != 0 || missing != 0 || a.OpenPulls != 0 || a.Commits != 1 {
			t.Errorf("not one of everything: %+v\n%s", a, rec.Markdown())
		}
		if a.Branches != 0 {
			t.Errorf("the branch was left behind")
		}
	})
}

// clean runs without faults, and answers the changes that it made.
func clean(t *testing.T) []boundary {
	t.Helper()
	s := simulate(t)
	if rec, done := s.run(); !done || rec.Outcome != publish.Passed {
		t.Fatalf("a clean run: %v, %+v", done, rec)
	}
	var all []boundary
	for _, server := range []string{"github", "indexnow", "mastodon"} {
		for _, c := range s.layers()[server].Changes() {
			all = append(all, boundary{server, c})
		}
	}
	ops, err := s.ledger.Operations(context.Background(), key)
	if err != nil || len(ops) != len(all) {
		t.Fatalf("%d changes on the wire, %d operations in the ledger (%v)", len(all), len(ops), err)
	}
	return all
}

// simulation is a world with the real steps, on Temporal's simulated time. Its Mastodon has never heard of
// idempotency keys, so that nothing but the loop stands against a second post.
type simulation struct {
	t      *testing.T
	world  *sandbox.World
	ledger *mortal
	steps  *activities.Steps
	req    publish.Request
}

func simulate(t *testing.T) *simulation {
	t.Helper()
	dir := t.TempDir()
	w, err := sandbox.Start(sandbox.Options{Dir: filepath.Join(dir, "blog.git"), MergeabilityDelay: 1, Mastodon: mastodon.Options{IgnoresKeys: true}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	file, err := devenv.Configure(dir, w, "{quiet_period: 60s, look_gap: 15s, budget: 3, live_deadline: 30m}")
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	cal, err := calendar.Read(cfg.Calendar)
	if err != nil {
		t.Fatal(err)
	}
	entry, err := cal.Find(key)
	if err != nil {
		t.Fatal(err)
	}
	in, err := cfg.Intent(entry)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := service.Assemble(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = parts.Close() })
	l := &mortal{Ledger: parts.Ledger}
	parts.Steps.Ledger = l
	return &simulation{t, w, l, parts.Steps, publish.Request{Intent: in, Policy: cfg.RunPolicy()}}
}

func (s *simulation) layers() map[string]*fault.Layer {
	return map[string]*fault.Layer{"github": s.world.GitHubFaults, "indexnow": s.world.IndexNowFaults, "mastodon": s.world.MastodonFaults}
}

// run runs the intent to its end; whenever it waits for a person, the answer is retry.
func (s *simulation) run() (rec publish.Record, done bool) {
	s.t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(nothing{})
	env := suite.NewTestWorkflowEnvironment()
	env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: string(key), TaskQueue: "colophon"})
	env.SetTestTimeout(time.Minute)
	service.Register(env, s.steps)
	for hour := 1; hour <= 5; hour++ {
		for _, step := range []publish.Step{publish.Branch, publish.PullRequest, publish.Merge} {
			env.RegisterDelayedCallback(func() {
				env.SignalWorkflow(publish.DecideName, publish.Decision{Step: step, Action: publish.Retry, By: "Ada"})
			}, time.Duration(hour)*time.Hour)
		}
		for _, channel := range s.req.Intent.Channels {
			env.RegisterDelayedCallback(func() {
				_ = env.SignalWorkflowByID(publish.DeliveryID(key, channel), publish.DecideName, publish.Decision{Step: publish.Syndicate, Action: publish.Retry, By: "Ada"})
			}, time.Duration(hour)*time.Hour)
		}
	}
	env.ExecuteWorkflow(workflows.PublishName, s.req)
	if !env.IsWorkflowCompleted() || env.GetWorkflowError() != nil {
		v, err := env.QueryWorkflow(publish.RecordQuery)
		if err == nil {
			_ = v.Get(&rec)
		}
		return rec, false
	}
	return rec, env.GetWorkflowResult(&rec) == nil
}

// mortal is a ledger whose process dies around its n-th attempt: once, and for good.
type mortal struct {
	*ledger.Ledger
	at    int32
	death death
	count atomic.Int32
}

// Attempt dies as a killed process does: whatever it was to write after that is never written. The real
// attempt is left waiting in a goroutine that nobody hears of again, its row in flight.
func (m *mortal) Attempt(ctx context.Context, op publish.Operation, a *publish.Approval,
	apply func(context.Context, publish.Prior) (publish.Receipt, error),
) (publish.Attempted, error) {
	if n := m.count.Add(1) - 1; m.death == lives || n != m.at {
		return m.Ledger.Attempt(ctx, op, a, apply)
	}
	switch m.death {
	case afterLedger:
		_, _ = m.Ledger.Attempt(ctx, op, a, apply)
	default:
		dead := make(chan struct{})
		go func() {
			_, _ = m.Ledger.Attempt(ctx, op, a, func(ctx context.Context, p publish.Prior) (publish.Receipt, error) {
				if m.death == afterEffect {
					_, _ = apply(ctx, p)
				}
				close(dead)
				select {}
			})
		}()
		<-dead
	}
	panic("the process was killed")
}

// nothing is a logger that drops everything.
type nothing struct{}

func (nothing) Debug(string, ...any) {}
func (nothing) Info(string, ...any)  {}
func (nothing) Warn(string, ...any)  {}
func (nothing) Error(string, ...any) {}
