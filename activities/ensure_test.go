package activities

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"colophon/internal/ledger"
	"colophon/publish"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"
)

// effect is an effect on a remote that is a number: how often the effect stands there.
type effect struct {
	stands, looks, applies int
	traits                 publish.Traits
	presence               publish.Presence // what a look says, if other than what is there
	err                    error            // of Apply, after the effect
	lane                   publish.Lane
}

func (e *effect) Operation() publish.Operation {
	return publish.Operation{What: "thing", Intent: "c:2026-10-04:e", Destination: "d", ContentID: "c", Revision: 1, Text: "t", Lane: e.lane}
}
func (e *effect) Traits() publish.Traits { return e.traits }

func (e *effect) Find(context.Context, publish.Prior) (publish.Finding, error) {
	e.looks++
	f := publish.Finding{Presence: publish.Absent, Evidence: []publish.Evidence{{Look: "remote"}}}
	if e.stands > 0 {
		f.Presence, f.Receipt = publish.Present, publish.Receipt{ID: "1"}
	}
	if e.presence != "" {
		f.Presence = e.presence
	}
	return f, nil
}

func (e *effect) Apply(context.Context, publish.Prior) (publish.Receipt, error) {
	e.applies++
	e.stands++
	return publish.Receipt{ID: "1"}, e.err
}

// ensureOnce runs ensureOne as an activity, on a ledger of its own.
func ensureOnce(t *testing.T, l *ledger.Ledger, e publish.Effect, a *publish.Approval) publish.Result {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	s := &Steps{Ledger: l}
	f := func(ctx context.Context) (publish.Result, error) { return s.ensureOne(ctx, e, a), nil }
	env.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: "Ensure"})
	v, err := env.ExecuteActivity("Ensure")
	if err != nil {
		t.Fatal(err)
	}
	var res publish.Result
	if err := v.Get(&res); err != nil {
		t.Fatal(err)
	}
	return res
}

func open(t *testing.T) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(context.Background(), filepath.Join(t.TempDir(), "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

var git = publish.Traits{Class: publish.Reconciled, LookFirst: true, LookAfter: true}

func TestWhatIsThereIsAdoptedAndNotMadeAgain(t *testing.T) {
	l, e := open(t), &effect{stands: 1, traits: git}
	if res := ensureOnce(t, l, e, nil); res.Outcome != publish.Passed || e.applies != 0 {
		t.Errorf("%+v, %d requests", res, e.applies)
	}
	if p, _ := l.Prior(context.Background(), e.Operation().Key()); p.State != publish.Done {
		t.Errorf("the ledger says %q", p.State)
	}
	e.stands = 0 // such as a branch that was removed after its merge
	if res := ensureOnce(t, l, e, nil); res.Outcome != publish.Passed || e.applies != 0 {
		t.Errorf("what was done was done again: %+v", res)
	}
}

func TestACleanAnnouncementIsNeverLookedFor(t *testing.T) {
	e := &effect{traits: publish.Traits{Class: publish.Reconciled}}
	if res := ensureOnce(t, open(t), e, nil); res.Outcome != publish.Passed || e.looks != 0 || e.applies != 1 {
		t.Errorf("%+v: %d looks, %d requests", res, e.looks, e.applies)
	}
}

func TestAnUnclearAttemptIsNotFollowedWithoutApproval(t *testing.T) {
	l, e := open(t), &effect{traits: publish.Traits{Class: publish.Reconciled}, err: errors.New("reset")}
	res := ensureOnce(t, l, e, nil)
	if res.Outcome != publish.NotConfirmed || res.Attempt != 1 {
		t.Fatalf("%+v", res)
	}
	if p, _ := l.Prior(context.Background(), e.Operation().Key()); p.State != publish.Unconfirmed {
		t.Errorf("the ledger says %q", p.State)
	}
	e.presence = publish.Absent
	if res := ensureOnce(t, l, e, nil); res.Outcome != publish.NotConfirmed || e.applies != 1 || e.looks == 0 {
		t.Errorf("%+v: %d looks, %d requests", res, e.looks, e.applies)
	}
	e.presence = ""
	approval := &publish.Approval{Operation: e.Operation().Key(), Attempt: 1, By: "rule"}
	if res := ensureOnce(t, l, e, approval); res.Outcome != publish.Passed || e.applies != 1 {
		t.Errorf("an approved attempt did not look first: %+v, %d requests", res, e.applies)
	}
}

func TestASuccessIsBelievedWhenItIsSeen(t *testing.T) {
	e := &effect{traits: git, presence: publish.Absent}
	if res := ensureOnce(t, open(t), e, nil); res.Outcome != publish.NotConfirmed || e.applies != 1 || e.looks != 2 {
		t.Errorf("%+v: %d looks, %d requests", res, e.looks, e.applies)
	}
}

func TestWhatIsNotOursStopsTheStep(t *testing.T) {
	for _, p := range []publish.Presence{publish.Foreign, publish.Several, publish.Incomplete, publish.NotReady} {
		e := &effect{traits: git, presence: p}
		res := ensureOnce(t, open(t), e, nil)
		if res.Outcome != publish.Blocked || e.applies != 0 || (res.Wait > 0) != (p == publish.NotReady) {
			t.Errorf("%s: %+v, %d requests", p, res, e.applies)
		}
	}
}

func TestOnlyWhatProvablyDidNothingMayBeRepeatedByRule(t *testing.T) {
	for kind, c := range map[publish.Kind]struct {
		outcome publish.Outcome
		repeat  bool
	}{
		publish.NotSent: {publish.FailedStep, true}, publish.Deferred: {publish.FailedStep, true}, publish.Rejected: {publish.FailedStep, false},
		publish.Halted: {publish.Blocked, false}, publish.Unknown: {publish.NotConfirmed, false},
	} {
		e := &effect{traits: publish.Traits{Class: publish.Reconciled}, err: &publish.Trouble{Kind: kind}}
		if res := ensureOnce(t, open(t), e, nil); res.Outcome != c.outcome || res.Repeat != c.repeat {
			t.Errorf("%s: %+v", kind, res)
		}
	}
}

func TestWhatWasClaimedAndIsNotSeenIsNotPassedByARetry(t *testing.T) {
	l, e := open(t), &effect{traits: git, presence: publish.Absent}
	if res := ensureOnce(t, l, e, nil); res.Outcome != publish.NotConfirmed {
		t.Fatalf("%+v", res)
	}
	approval := &publish.Approval{Operation: e.Operation().Key(), Attempt: 1, By: "Ada"}
	if res := ensureOnce(t, l, e, approval); res.Outcome != publish.Blocked || res.Condition != "claimed_but_absent" || res.Next == "" || e.applies != 1 {
		t.Errorf("%+v, %d requests", res, e.applies)
	}
	e.presence = publish.Present // put right by hand
	if res := ensureOnce(t, l, e, approval); res.Outcome != publish.Passed || e.applies != 1 {
		t.Errorf("%+v, %d requests", res, e.applies)
	}
}
