package e2e

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
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

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
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
	// method is how pull requests are merged; by merge commits unless set.
	method string
	// name is how the servers that are changed are reached.
	name fault.Name
	// doubles are steps that two workers do at the same time.
	doubles []double
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
		Name: o.name, MergeabilityDelay: 1, Mastodon: mastodon.Options{IgnoresKeys: !o.keyed, Now: s.clock.now},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.world.Close)
	file, err := devenv.Configure(dir, s.world, "{quiet_period: 60s, look_gap: 15s, budget: 3, live_deadline: 30m}")
	if err != nil {
		t.Fatal(err)
	}
	if s.config, err = config.Load(file); err != nil {
		t.Fatal(err)
	}
	if o.method != "" {
		s.config.Repository.MergeMethod = o.method
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
	s.ledger = &mortal{Ledger: parts.Ledger}
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
	switch server {
	case "github":
		return s.world.GitHubFaults
	case "mastodon":
		return s.world.MastodonFaults
	case "indexnow":
		return s.world.IndexNowFaults
	}
	panic("no server " + server)
}

func (s *simulation) port(server string) *fault.Port {
	return map[string]*fault.Port{"github": s.world.GitHubPort, "mastodon": s.world.MastodonPort, "indexnow": s.world.IndexNowPort}[server]
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

// crowd registers steps so that two workers may do one at the same time: both do it, and Temporal hears of one.
// It stands for a worker that was given up and lives.
func (s *simulation) crowd(env *testsuite.TestWorkflowEnvironment) service.Registry {
	return &crowd{TestWorkflowEnvironment: env, s: s, doubles: s.doubles, done: map[publish.Step]int{}}
}

// changing are the steps that change a remote system.
var changing = []publish.Step{publish.Branch, publish.PullRequest, publish.Merge, publish.Syndicate, publish.Sweep}

type crowd struct {
	*testsuite.TestWorkflowEnvironment
	s       *simulation
	doubles []double

	mu   sync.Mutex
	done map[publish.Step]int
}

// RegisterActivityWithOptions wraps a step, whatever it takes and answers.
func (c *crowd) RegisterActivityWithOptions(a any, o activity.RegisterOptions) {
	f, step := reflect.ValueOf(a), publish.Step(o.Name)
	c.TestWorkflowEnvironment.RegisterActivityWithOptions(reflect.MakeFunc(f.Type(), func(args []reflect.Value) []reflect.Value {
		info := activity.GetInfo(args[0].Interface().(context.Context))
		if !c.both(step, info.Attempt) {
			return f.Call(args)
		}
		other := make(chan struct{})
		go func() {
			defer close(other)
			defer func() { _ = recover() }() // it may die
			f.Call(args)
		}()
		defer func() { <-other }()
		return f.Call(args)
	}).Interface(), o)
}

// both says whether two workers do this execution of a step. A step that changes a remote system must not be
// repeated by Temporal.
func (c *crowd) both(step publish.Step, attempt int32) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if attempt > 1 && slices.Contains(changing, step) {
		c.s.repeated.Store(true)
	}
	c.done[step]++
	return slices.Contains(c.doubles, double{step, c.done[step]})
}

// people are told by the log that they are asked, and decide. Everything else that is logged is dropped.
type people struct {
	env *testsuite.TestWorkflowEnvironment

	// mend is what people do about what they are asked, before they decide.
	mend func()

	mu    sync.Mutex
	asked []publish.Condition
}

// patience is how often people are asked in one simulation before they let it stand.
const patience = 12

// conditions are those that a person was asked about, each once, in order.
func (p *people) conditions() []publish.Condition {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := slices.Clone(p.asked)
	slices.Sort(out)
	return slices.Compact(out)
}

func (p *people) Warn(msg string, fields ...any) {
	if !strings.Contains(msg, "a person has to decide") {
		return
	}
	said := map[string]any{}
	for n := 0; n+1 < len(fields); n += 2 {
		said[fmt.Sprint(fields[n])] = fields[n+1]
	}
	key, step, condition := said["key"].(publish.Key), said["step"].(publish.Step), said["condition"].(publish.Condition)
	id := string(key)
	if channel := said["channel"].(string); channel != "" {
		id = publish.DeliveryID(key, channel)
	}
	p.mu.Lock()
	p.asked = append(p.asked, condition)
	often := len(p.asked)
	p.mu.Unlock()
	if often > patience {
		return
	}
	p.env.RegisterDelayedCallback(func() {
		if p.mend != nil {
			p.mend()
		}
		_ = p.env.SignalWorkflowByID(id, publish.DecideName, publish.Decision{Step: step, Action: publish.Retry, By: "Ada", Note: "mended"})
	}, time.Hour)
}
func (*people) Debug(string, ...any) {}
func (*people) Info(string, ...any)  {}
func (*people) Error(string, ...any) {}

// killed is what a process that dies leaves of a step.
const killed = "the process was killed"

// mortal is a ledger whose process dies at chosen instants, and around whose attempts things can be made to
// happen. Every instant is passed under a name that is the same in every run.
type mortal struct {
	*ledger.Ledger

	mu     sync.Mutex
	passed map[string]int
	// dies are the instants to die at, each with which passing of it, from 1.
	dies map[string][]int
	// meet is the change before whose claim two workers wait for each other, so that both have looked.
	meet string
	met  chan struct{}
	// around is called with each attempt's operation before its request and, if it answers a function, that
	// one after it.
	around func(op publish.Operation) (after func())
}

// instant is passed, or not survived.
func (m *mortal) instant(name string) {
	if m.dead(name) {
		panic(killed)
	}
}

func (m *mortal) dead(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.passed == nil {
		m.passed = map[string]int{}
	}
	m.passed[name]++
	return slices.Contains(m.dies[name], m.passed[name])
}

// die makes the process die at the n-th passing of an instant, from 1.
func (m *mortal) die(name string, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dies == nil {
		m.dies = map[string][]int{}
	}
	m.dies[name] = append(m.dies[name], n)
}

// rendezvous lets the first worker wait for the second, and no longer than it could take.
func (m *mortal) rendezvous(what string) {
	m.mu.Lock()
	if what != m.meet {
		m.mu.Unlock()
		return
	}
	if m.met != nil {
		close(m.met)
		m.meet = ""
		m.mu.Unlock()
		return
	}
	m.met = make(chan struct{})
	m.mu.Unlock()
	select {
	case <-m.met:
	case <-time.After(500 * time.Millisecond):
	}
}

// instants are the names of those that were passed.
func (m *mortal) instants() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	for name := range m.passed {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// The instants around an attempt.
const (
	beforeClaim = ": before the claim"
	beforeCall  = ": before the call"
	afterEffect = ": after the effect, before the ledger"
	afterLedger = ": after the ledger, before the answer"
	duringLook  = ": while it is looked for"
)

// Attempt dies as a killed process does: whatever it was to write after that is never written. The real
// attempt is then left waiting in a goroutine that nobody hears of again, its row in flight.
func (m *mortal) Attempt(ctx context.Context, op publish.Operation, a *publish.Approval,
	apply func(context.Context, publish.Prior) (publish.Receipt, error),
) (publish.Attempted, error) {
	m.instant(op.What + beforeClaim)
	m.rendezvous(op.What)
	type answer struct {
		publish.Attempted
		err error
	}
	dead, done := make(chan struct{}), make(chan answer, 1)
	dies := func(at string) {
		if m.dead(op.What + at) {
			close(dead)
			select {} // nothing of this process goes on
		}
	}
	go func() {
		got, err := m.Ledger.Attempt(ctx, op, a, func(ctx context.Context, p publish.Prior) (publish.Receipt, error) {
			dies(beforeCall)
			var after func()
			if m.around != nil {
				after = m.around(op)
			}
			r, err := apply(ctx, p)
			if after != nil {
				after()
			}
			dies(afterEffect)
			return r, err
		})
		done <- answer{got, err}
	}()
	select {
	case <-dead:
		panic(killed)
	case got := <-done:
		m.instant(op.What + afterLedger)
		return got.Attempted, got.err
	}
}

func (m *mortal) Admit(ctx context.Context, in publish.Intent) (publish.Admission, error) {
	m.instant("admit: before")
	defer m.instant("admit: after")
	return m.Ledger.Admit(ctx, in)
}

func (m *mortal) Keep(ctx context.Context, key publish.Key, revision int, kind string, content []byte) (publish.Digest, []byte, error) {
	m.instant("keep: before")
	defer m.instant("keep: after")
	return m.Ledger.Keep(ctx, key, revision, kind, content)
}

func (m *mortal) Pin(ctx context.Context, key publish.Key, revision int, p publish.Plan) (publish.Plan, error) {
	m.instant("pin: before")
	defer m.instant("pin: after")
	return m.Ledger.Pin(ctx, key, revision, p)
}

func (m *mortal) Observe(ctx context.Context, key publish.OperationKey, seen publish.Presence, e []publish.Evidence) error {
	m.instant("observe: before")
	defer m.instant("observe: after")
	return m.Ledger.Observe(ctx, key, seen, e)
}

func (m *mortal) Confirm(ctx context.Context, op publish.Operation, r publish.Receipt, e []publish.Evidence) error {
	m.instant(op.What + duringLook)
	defer m.instant(op.What + ": when it was found")
	return m.Ledger.Confirm(ctx, op, r, e)
}

func (m *mortal) Settle(ctx context.Context, r publish.Record) (publish.Record, error) {
	m.instant("settle: before")
	defer m.instant("settle: after")
	return m.Ledger.Settle(ctx, r)
}
