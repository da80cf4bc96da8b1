package publish

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestOnlyProvenAbsenceOrProvenInactionIsRepeatedByRule(t *testing.T) {
	p := Policy{Budget: 3}
	for name, c := range map[string]struct {
		res  Result
		want bool
	}{
		"not performed":         {Result{Outcome: FailedStep, Repeat: true, Attempt: 1}, true},
		"rejected":              {Result{Outcome: FailedStep, Attempt: 1}, false},
		"seen absent":           {Result{Outcome: NotConfirmed, Presence: Absent, Repeat: true, Attempt: 1}, true},
		"absent but unclear":    {Result{Outcome: NotConfirmed, Presence: Absent, Attempt: 1}, false},
		"not confirmed":         {Result{Outcome: NotConfirmed, Repeat: true, Attempt: 1}, false},
		"history incomplete":    {Result{Outcome: Blocked, Presence: Incomplete, Repeat: true, Attempt: 1}, false},
		"budget spent":          {Result{Outcome: FailedStep, Repeat: true, Attempt: 3}, false},
		"put off":               {Result{Outcome: FailedStep, Repeat: true, Attempt: 3, Deferrals: 1}, true},
		"put off and spent":     {Result{Outcome: FailedStep, Repeat: true, Attempt: 4, Deferrals: 1}, false},
		"passed is not redone":  {Result{Outcome: Passed, Repeat: true}, false},
		"several are not ours":  {Result{Outcome: Blocked, Presence: Several, Repeat: true, Attempt: 1}, false},
		"before any attempt":    {Result{Outcome: FailedStep, Repeat: true}, true},
		"absent at last budget": {Result{Outcome: NotConfirmed, Presence: Absent, Repeat: true, Attempt: 3}, false},
	} {
		a, got := p.MayRepeat(c.res)
		if got != c.want {
			t.Errorf("%s: MayRepeat = %v, want %v", name, got, c.want)
		}
		if got && (a.By != "rule" || a.Reason == "" || a.Attempt != c.res.Attempt) {
			t.Errorf("%s: the approval does not say who, why and what: %+v", name, a)
		}
	}
}

func TestWhatIsNotOnTheListIsUnknown(t *testing.T) {
	for _, err := range []error{errors.New("x"), fmt.Errorf("wrapped: %w", errors.New("y")), nil} {
		if got := AsTrouble(err); got.Kind != Unknown || got.State() != Unconfirmed {
			t.Errorf("AsTrouble(%v) = %v, %v", err, got.Kind, got.State())
		}
	}
	inner := &Trouble{Kind: NotSent, Detail: "refused"}
	if got := AsTrouble(fmt.Errorf("post: %w", inner)); got.Kind != NotSent || got.State() != NotPerformed {
		t.Errorf("a wrapped trouble is lost: %v", got)
	}
}

func TestDecisionsThatDoNotFitAreRefusedWithTheReason(t *testing.T) {
	good := Decision{Step: Syndicate, Action: Confirm, By: "Ada", Receipt: Receipt{ID: "7", URL: "https://x/7"}}
	if err := good.Check(Syndicate); err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]struct {
		d       Decision
		waiting Step
	}{
		"nothing waits":  {good, ""},
		"does not wait":  {good, Merge},
		"takes one of":   {Decision{Step: Merge, Action: Skip, By: "Ada"}, Merge},
		"who decides":    {Decision{Step: Merge, Action: Retry}, Merge},
		"needs the id":   {Decision{Step: Syndicate, Action: Confirm, By: "Ada"}, Syndicate},
		"takes one of r": {Decision{Step: Merge, Action: "explode", By: "Ada"}, Merge},
	} {
		if err := c.d.Check(c.waiting); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Check = %v, want %q in it", err, want)
		}
	}
}
