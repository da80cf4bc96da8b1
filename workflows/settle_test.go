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
	for _, name := range []publish.Step{publish.Draft, publish.Validate, publish.Branch, publish.PullRequest, publish.Merge, publish.VerifyLive, publish.Prepare, publish.Syndicate, publish.Sweep, publish.Reconcile} {
		env.RegisterActivityWithOptions(answer(name), activity.RegisterOptions{Name: string(name)})
	}
	env.RegisterActivityWithOptions(func(_ context.Context, in publish.Intent) (publish.Admission, error) {
		return publish.Admission{New: true, Publication: publish.Publication{Intent: in}}, nil
	}, activity.RegisterOptions{Name: string(publish.Admit)})
	env.RegisterActivityWithOptions(func(_ context.Context, r publish.Record) (publish.Record, error) { return r, nil },
		activity.RegisterOptions{Name: string(publish.Close)})
	env.RegisterWorkflowWithOptions(Deliver, workflow.RegisterOptions{Name: DeliverName})
	env.RegisterWorkflowWithOptions(Line, workflow.RegisterOptions{Name: LineName})
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
	want := []publish.Step{publish.Draft, publish.Validate, publish.Branch, publish.PullRequest, publish.Merge, publish.VerifyLive, publish.Prepare, publish.Syndicate, publish.Sweep}
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

func TestWhatIsPutOffIsNotCountedAndNotHammered(t *testing.T) {
	var put []publish.Result
	for n := range 6 {
		put = append(put, publish.Result{Outcome: publish.FailedStep, Condition: "rate_limited", Operation: "o", Attempt: n + 1, Deferrals: n + 1, Repeat: true, Wait: time.Minute})
	}
	p := play(t, script{publish.Merge: put})
	if n := count(p.calls, publish.Merge); n != 7 || p.record.Outcome != publish.Passed || p.took < 6*time.Minute || p.took > time.Hour {
		t.Errorf("%d attempts in %s, %s", n, p.took, p.record.Outcome)
	}
	always := slices.Repeat([]publish.Result{{Outcome: publish.FailedStep, Operation: "o", Attempt: 1, Deferrals: 1, Repeat: true, Wait: time.Hour}}, 100)
	p = play(t, script{publish.Merge: always}, slices.Repeat([]publish.Decision{{Step: publish.Merge, Action: publish.Abandon, By: "Ada"}}, 40)...)
	if p.record.Outcome != publish.FailedStep || p.took < 24*time.Hour {
		t.Errorf("a limit that never ends was not brought before a person after a day: %s in %s", p.record.Outcome, p.took)
	}
}

func TestAnApprovalThatWasNotUsedIsUsed(t *testing.T) {
	refused := publish.Result{Outcome: publish.FailedStep, Condition: "repository_archived", Operation: "o", Attempt: 1}
	for name, died := range map[string]publish.Result{
		"the process died before it": {Outcome: publish.FailedStep, Condition: "left_failed", Operation: "o", Attempt: 1},
		"the lane was busy":          {Outcome: publish.Blocked, Condition: "busy", Operation: "o", Attempt: 1, Wait: time.Minute},
	} {
		p := play(t, script{publish.Merge: {refused, died}}, publish.Decision{Step: publish.Merge, Action: publish.Retry, By: "Ada", Note: "mended"})
		if count(p.calls, publish.Merge) != 3 || p.record.Outcome != publish.Passed || len(p.approvals) != 2 || p.approvals[1].By != "Ada" {
			t.Errorf("%s: %v, approvals %+v", name, p.calls, p.approvals)
		}
	}
}

func TestWhatTheRemoteSaidWasDoneIsLookedForLonger(t *testing.T) {
	claimed := publish.Result{Outcome: publish.NotConfirmed, Presence: publish.Absent, Condition: publish.ClaimedNotSeen, Operation: "o", Attempt: 1}
	p := play(t, script{publish.Merge: {claimed}, publish.Reconcile: {claimed, claimed, claimed, claimed, {Outcome: publish.Passed}}})
	if count(p.calls, publish.Reconcile) != 5 || count(p.calls, publish.Merge) != 1 || p.record.Outcome != publish.Passed {
		t.Errorf("%v", p.calls)
	}
	p = play(t, script{publish.Merge: {claimed}, publish.Reconcile: slices.Repeat([]publish.Result{claimed}, 20)},
		publish.Decision{Step: publish.Merge, Action: publish.Abandon, By: "Ada"})
	if n := count(p.calls, publish.Reconcile); n != claimedLooks || count(p.calls, publish.Merge) != 1 {
		t.Errorf("%d looks, %v", n, p.calls)
	}
}

func TestSweepingWaitsOnlyWhereARequestMayStillArrive(t *testing.T) {
	clean := play(t, script{})
	lost := play(t, script{publish.Branch: {{Outcome: publish.NotConfirmed, Operation: "o", Attempt: 1}}})
	if delay := publish.DefaultPolicy().StrayDelay; clean.took > time.Minute || lost.took < delay || count(lost.calls, publish.Sweep) != 1 {
		t.Errorf("clean %s, lost %s, %v", clean.took, lost.took, lost.calls)
	}
	blocked := publish.Result{Outcome: publish.Blocked, Condition: "branch_moved_on"}
	p := play(t, script{publish.Sweep: {blocked}}, publish.Decision{Step: publish.Sweep, Action: publish.Skip, By: "Ada"})
	if p.record.Outcome != publish.Passed || p.record.State != publish.Syndicated {
		t.Errorf("what cannot be swept changed the outcome: %s, %s", p.record.State, p.record.Outcome)
	}
}

// TestTheRecordSaysWhoLetWhatBeRepeatedAndWhy: an approval is on the record, and so is what a person is asked.
func TestTheRecordSaysWhoLetWhatBeRepeatedAndWhy(t *testing.T) {
	seen := []publish.Evidence{{Look: "GET pulls/1", Saw: "open"}}
	absent := publish.Result{Outcome: publish.NotConfirmed, Presence: publish.Absent, Operation: "o", Attempt: 1, Repeat: true, Evidence: seen}
	p := play(t, script{publish.Merge: {{Outcome: publish.NotConfirmed, Operation: "o", Attempt: 1}}, publish.Reconcile: {absent, absent}})
	for _, l := range p.record.Steps {
		for _, turn := range l.Turns {
			if turn.Condition == publish.RetryApproved {
				if l.Step != publish.Merge || turn.By != "rule" || turn.Attempt != 1 || !strings.Contains(turn.Detail, "two spaced looks saw nothing") || len(turn.Evidence) != 1 {
					t.Errorf("%+v", turn)
				}
				return
			}
		}
	}
	t.Errorf("no approval on the record:\n%s", p.record.Markdown())
}
