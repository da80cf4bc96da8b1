package workflows

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"colophon/publish"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
)

// script says what each step answers, call by call; a step without a script passes.
type script map[publish.Step][]publish.Result

// played is what a scripted run did.
type played struct {
	calls     []publish.Step
	approvals []publish.Approval
	record    publish.Record
	took      time.Duration
}

func intent() publish.Intent {
	return publish.Intent{
		Key: "media-001:2026-10-04:look", Topic: "Looking", Slug: "look", Date: "2026-10-04", Repository: "example/blog", BaseBranch: "main",
		Revision: 1, Path: "posts/look.md", URL: "https://example.org/posts/look/", Channels: []string{"mastodon"},
	}
}

// play runs Publish on simulated time; each decision is sent when the run waits for a person.
func play(t *testing.T, s script, decisions ...publish.Decision) played {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: string(intent().Key), TaskQueue: "colophon"})
	env.SetTestTimeout(30 * time.Second)
	var p played
	next := map[publish.Step]int{}
	answer := func(name publish.Step) func(context.Context, publish.Task) (publish.Result, error) {
		return func(_ context.Context, task publish.Task) (publish.Result, error) {
			p.calls = append(p.calls, name)
			if task.Approval != nil {
				p.approvals = append(p.approvals, *task.Approval)
			}
			n := next[name]
			next[name]++
			if n < len(s[name]) {
				return s[name][n], nil
			}
			return publish.Result{Outcome: publish.Passed}, nil
		}
	}
	for _, name := range []publish.Step{publish.Draft, publish.Validate, publish.Branch, publish.PullRequest, publish.Merge, publish.VerifyLive, publish.Syndicate, publish.Sweep, publish.Reconcile} {
		env.RegisterActivityWithOptions(answer(name), activity.RegisterOptions{Name: string(name)})
	}
	env.RegisterActivityWithOptions(func(_ context.Context, in publish.Intent) (publish.Admission, error) {
		return publish.Admission{New: true, Publication: publish.Publication{Intent: in}}, nil
	}, activity.RegisterOptions{Name: string(publish.Admit)})
	env.RegisterActivityWithOptions(func(_ context.Context, r publish.Record) (publish.Record, error) { return r, nil },
		activity.RegisterOptions{Name: string(publish.Close)})
	env.RegisterWorkflowWithOptions(Deliver, workflow.RegisterOptions{Name: DeliverName})
	for n, d := range decisions {
		env.RegisterDelayedCallback(func() { env.SignalWorkflow(publish.DecideName, d) }, time.Duration(n+1)*time.Hour)
	}
	begun := env.Now()
	env.ExecuteWorkflow(Publish, publish.Request{Intent: intent(), Policy: publish.DefaultPolicy()})
	p.took = env.Now().Sub(begun)
	if !env.IsWorkflowCompleted() {
		t.Fatal("the run did not end")
	}
	if err := env.GetWorkflowResult(&p.record); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestACleanRunIsOneActivityAStep(t *testing.T) {
	p := play(t, script{})
	want := []publish.Step{publish.Draft, publish.Validate, publish.Branch, publish.PullRequest, publish.Merge, publish.VerifyLive, publish.Syndicate, publish.Sweep}
	if !slices.Equal(p.calls, want) || p.record.Outcome != publish.Passed || p.record.State != publish.Syndicated {
		t.Errorf("%v, %s", p.calls, p.record.Outcome)
	}
}

func TestAnUnclearStepIsLookedIntoTwiceBeforeItIsRepeated(t *testing.T) {
	unclear := publish.Result{Outcome: publish.NotConfirmed, Operation: "o", Attempt: 1}
	absent := publish.Result{Outcome: publish.NotConfirmed, Presence: publish.Absent, Operation: "o", Attempt: 1, Repeat: true}
	p := play(t, script{publish.Merge: {unclear}, publish.Reconcile: {absent, absent}})
	at := slices.Index(p.calls, publish.Merge)
	if got := p.calls[at : at+4]; !slices.Equal(got, []publish.Step{publish.Merge, publish.Reconcile, publish.Reconcile, publish.Merge}) {
		t.Errorf("%v", p.calls)
	}
	if len(p.approvals) != 1 || p.approvals[0].Operation != "o" || p.approvals[0].Attempt != 1 || p.approvals[0].By != "rule" {
		t.Errorf("%+v", p.approvals)
	}
	if d := publish.DefaultPolicy(); p.took < d.QuietPeriod+d.LookGap {
		t.Errorf("it was repeated after %s", p.took)
	}
	if p = play(t, script{publish.Merge: {unclear}, publish.Reconcile: {absent, {Outcome: publish.Passed}}}); slices.Index(p.calls[at+1:], publish.Merge) >= 0 {
		t.Errorf("what the second look saw was repeated: %v", p.calls)
	}
}

func TestWhatIsNotClearlyAbsentIsNeverRepeated(t *testing.T) {
	for _, presence := range []publish.Presence{publish.Several, publish.Foreign, publish.Incomplete} {
		p := play(t, script{
			publish.Merge:     {{Outcome: publish.NotConfirmed, Operation: "o", Attempt: 1}},
			publish.Reconcile: {{Outcome: publish.Blocked, Presence: presence, Operation: "o", Attempt: 1}},
		}, publish.Decision{Step: publish.Merge, Action: publish.Abandon, By: "Ada"})
		if n := count(p.calls, publish.Merge); n != 1 || p.record.Outcome != publish.FailedStep {
			t.Errorf("%s: %d attempts, %s", presence, n, p.record.Outcome)
		}
	}
}

func TestASpentBudgetWaitsForAPerson(t *testing.T) {
	var tries []publish.Result
	for n := range 3 {
		tries = append(tries, publish.Result{Outcome: publish.FailedStep, Operation: "o", Attempt: n + 1, Repeat: true})
	}
	p := play(t, script{publish.Merge: tries}, publish.Decision{Step: publish.Merge, Action: publish.Retry, By: "Ada", Note: "mended"})
	if n := count(p.calls, publish.Merge); n != 4 || p.record.Outcome != publish.Passed || p.took < time.Hour {
		t.Errorf("%d attempts in %s, %s", n, p.took, p.record.Outcome)
	}
	if last := p.approvals[len(p.approvals)-1]; len(p.approvals) != 3 || last.By != "Ada" || last.Attempt != 3 || last.Reason != "mended" {
		t.Errorf("%+v", p.approvals)
	}
}

func TestNothingIsAnnouncedBeforeItIsLive(t *testing.T) {
	p := play(t, script{publish.VerifyLive: {{Outcome: publish.Blocked, Condition: "not_live"}}},
		publish.Decision{Step: publish.VerifyLive, Action: publish.Abandon, By: "Ada"})
	if count(p.calls, publish.Syndicate) != 0 || p.record.Outcome != publish.FailedStep || p.record.State == publish.Syndicated {
		t.Errorf("%v, %s", p.calls, p.record.Outcome)
	}
}

func TestWhatIsNotReadyIsWaitedForAndThenAskedAbout(t *testing.T) {
	waiting := publish.Result{Outcome: publish.Blocked, Condition: "checks_or_reviews", Wait: 30 * time.Second}
	p := play(t, script{publish.Merge: {waiting, waiting}})
	if count(p.calls, publish.Merge) != 3 || count(p.calls, publish.Reconcile) != 0 || p.took < time.Minute {
		t.Errorf("%v in %s", p.calls, p.took)
	}
	always := slices.Repeat([]publish.Result{waiting}, 1000)
	p = play(t, script{publish.Merge: always}, slices.Repeat([]publish.Decision{{Step: publish.Merge, Action: publish.Abandon, By: "Ada"}}, 30)...)
	if n := count(p.calls, publish.Merge); p.took < 24*time.Hour || n > 400 {
		t.Errorf("a person was asked after %s and %d looks", p.took, n)
	}
}

func count(calls []publish.Step, s publish.Step) (n int) {
	for _, c := range calls {
		if c == s {
			n++
		}
	}
	return n
}

func TestADecisionThatDoesNotFitIsWrittenDown(t *testing.T) {
	blocked := publish.Result{Outcome: publish.Blocked, Condition: "merge_conflict"}
	p := play(t, script{publish.Validate: {{Outcome: publish.Blocked, Wait: 90 * time.Minute}}, publish.Merge: {blocked}},
		publish.Decision{Step: publish.Merge, Action: publish.Retry, By: "Ada"}, // too early: nothing waits
		publish.Decision{Step: publish.Merge, Action: publish.Skip, By: "Bob"},  // cannot be skipped
		publish.Decision{Step: publish.Merge, Action: publish.Abandon, By: "Ada"})
	if len(p.record.Refused) != 2 || p.record.Refused[0].By != "Ada" || p.record.Refused[1].By != "Bob" || p.record.Refused[0].Detail == "" {
		t.Errorf("%+v", p.record.Refused)
	}
	if md := p.record.Markdown(); !strings.Contains(md, "nothing waits") {
		t.Errorf("not shown:\n%s", md)
	}
}
