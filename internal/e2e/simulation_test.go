package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
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

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"colophon/workflows"
	enumspb "go.temporal.io/api/enums/v1"
)

// simulation is a world with the real steps and workflows, on Temporal's simulated time: the servers, the Git
// repository, the HTTP and the ledger are real, hours pass in milliseconds.
type simulation struct {
	t        testing.TB
	world    *sandbox.World
	ledger   *mortal
	steps    *activities.Steps
	policy   publish.Policy
	calendar calendar.Calendar
	config   *config.Config
	file     string // of the configuration
	clock    *clock
	people   people
	doubles  []double
	repeated atomic.Bool // Temporal has repeated a step that changes something
}

// setup is what simulations differ in.
type setup struct {
	// keyed makes Mastodon honour idempotency keys. Without it nothing but the loop stands against a second
	// post.
	keyed bool
	// made is the kind of Mastodon server, where it matters which.
	made mastodon.Make
	// method is how pull requests are merged; by merge commits unless set.
	method string
	// name is how the servers that are changed are reached.
	name fault.Name
	// doubles are steps that two workers do at the same time.
	doubles []double
	// seed is what the repository holds at first, if other than a README.
	seed map[string]string
	// gaps are between two posts, by channel; next to none unless set.
	gaps map[string]time.Duration
}

// make is the kind of Mastodon server.
func (o setup) make() mastodon.Make {
	if o.made != "" {
		return o.made
	}
	if o.keyed {
		return mastodon.Current
	}
	return mastodon.GoToSocial
}

// clock is Temporal's simulated clock, for whoever shares its time.
type clock struct {
	env atomic.Pointer[testsuite.TestWorkflowEnvironment]
}

func (c *clock) now() time.Time {
	if env := c.env.Load(); env != nil {
		return env.Now()
	}
	return time.Now()
}

// scratch is where simulations keep their files: in memory, where the machine has such a folder, since none
// of them has to outlive a power cut.
func scratch(t testing.TB) string {
	t.Helper()
	parent := ""
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		parent = "/dev/shm"
	}
	dir, err := os.MkdirTemp(parent, "colophon-simulation-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func simulate(t testing.TB, o setup) *simulation {
	t.Helper()
	s := &simulation{t: t, clock: &clock{}, doubles: o.doubles}
	dir := scratch(t)
	var err error
	s.world, err = sandbox.Start(sandbox.Options{
		Name: o.name, MergeabilityDelay: 1, Seed: o.seed, Mastodon: mastodon.Options{Make: o.make(), Now: s.clock.now},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.world.Close)
	file, err := devenv.Configure(dir, s.world, "ledger.db", "{quiet_period: 60s, look_gap: 15s, budget: 3, live_deadline: 30m}")
	if err != nil {
		t.Fatal(err)
	}
	s.file = file
	if s.config, err = config.Load(file); err != nil {
		t.Fatal(err)
	}
	if o.method != "" {
		s.config.Repository.MergeMethod = o.method
	}
	for name, gap := range o.gaps {
		ch := s.config.Channels[name]
		ch.Gap = gap
		s.config.Channels[name] = ch
	}
	s.config.Repository.WriteGap = 0 // simulated time does not pass inside an activity
	if s.calendar, err = calendar.Read(s.config.Calendar); err != nil {
		t.Fatal(err)
	}
	s.policy = s.config.RunPolicy()
	parts, err := service.Assemble(context.Background(), s.config, ledger.WithClock(s.clock.now))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = parts.Close() })
	s.ledger = &mortal{Ledger: parts.Ledger, over: make(chan struct{})}
	t.Cleanup(func() { close(s.ledger.over) })
	s.steps = parts.Steps
	s.steps.LaneWait = 0
	s.steps.Ledger = s.ledger
	return s
}

// intent is the calendar's intent of a key.
func (s *simulation) intent(key publish.Key) publish.Intent {
	s.t.Helper()
	entry, err := s.calendar.Find(key)
	if err != nil {
		s.t.Fatal(err)
	}
	in, err := s.config.Intent(entry)
	if err != nil {
		s.t.Fatal(err)
	}
	return in
}

// layer is the faults of the server that an operation is done at.
func (s *simulation) layer(server string) *fault.Layer {
	if l := s.world.Layers()[server]; l != nil {
		return l
	}
	panic("no server " + server)
}

func (s *simulation) port(server string) *fault.Port {
	return s.world.Ports()[server]
}

// server is where an operation is done.
func server(op publish.Operation) string {
	name, _, _ := strings.Cut(op.Destination, ":")
	return name
}

// tick starts an intent at a time, as a scheduler or a person does.
type tick struct {
	After  time.Duration
	Intent publish.Intent
}

// ended is how a tick's run ended: with a record, or an error in words.
type ended struct {
	Record publish.Record
	Err    string
	Joined bool // a run of that key was under way
}

// ticks is a workflow of the simulation alone: it starts runs, each under its key, and waits for all.
func ticks(ctx workflow.Context, all []tick, policy publish.Policy) ([]ended, error) {
	out := make([]ended, len(all))
	wg := workflow.NewWaitGroup(ctx)
	for n, tk := range all {
		wg.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer wg.Done()
			if err := workflow.Sleep(ctx, tk.After); err != nil {
				return
			}
			ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
				WorkflowID: string(tk.Intent.Key), ParentClosePolicy: enumspb.PARENT_CLOSE_POLICY_ABANDON,
			})
			err := workflow.ExecuteChildWorkflow(ctx, workflows.PublishName, publish.Request{Intent: tk.Intent, Policy: policy}).Get(ctx, &out[n].Record)
			switch {
			case temporal.IsWorkflowExecutionAlreadyStartedError(err):
				out[n].Joined = true
			case err != nil:
				out[n].Err = err.Error()
			}
		})
	}
	wg.Wait(ctx)
	return out, nil
}

// run runs ticks to their end on simulated time. Whenever something waits for a person, the answer is retry,
// an hour later. It fails when a run does not end.
func (s *simulation) run(all ...tick) (out []ended, err error) {
	defer func() {
		if p := recover(); p != nil { // how the environment says that nothing goes on
			out, err = nil, fmt.Errorf("it came to a stand: %v; asked about %v", p, s.people.asked)
		}
	}()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(&s.people)
	env := suite.NewTestWorkflowEnvironment()
	env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: "ticks", TaskQueue: "colophon"})
	env.SetTestTimeout(20 * time.Second)
	// A machine that pauses for a second is no deadlock of a workflow.
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: 20 * time.Second})
	s.clock.env.Store(env)
	service.Register(s.crowd(env), s.steps)
	env.RegisterWorkflow(ticks)
	s.people.env = env
	env.ExecuteWorkflow(ticks, all, s.policy)
	if !env.IsWorkflowCompleted() {
		return nil, fmt.Errorf("it did not end")
	}
	if err := env.GetWorkflowError(); err != nil {
		return nil, err
	}
	return out, env.GetWorkflowResult(&out)
}
