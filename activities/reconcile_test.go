package activities

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"colophon/internal/ledger"
	"colophon/publish"
)

// TestALaneThatIsBusyIsWaitedForAndNotCounted: a short wait is spent in the step, a longer one is told, and
// neither is an attempt.
func TestALaneThatIsBusyIsWaitedForAndNotCounted(t *testing.T) {
	clock := time.Now()
	l, err := ledger.Open(context.Background(), filepath.Join(t.TempDir(), "ledger.db"), ledger.WithClock(func() time.Time { return clock }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	lane := publish.Lane{Name: "github:example/blog"}
	other := publish.Operation{What: "other", Intent: "c:2026-10-04:o", Destination: "d", ContentID: "o", Revision: 1, Text: "t", Lane: lane}
	limit := func(context.Context, publish.Prior) (publish.Receipt, error) {
		return publish.Receipt{}, &publish.Trouble{Kind: publish.Deferred, Detail: "slow down", After: time.Minute}
	}
	if _, err := l.Attempt(context.Background(), other, nil, limit); err != nil {
		t.Fatal(err)
	}
	e := &effect{traits: git, lane: lane}
	res := ensureOnce(t, l, e, nil)
	if res.Outcome != publish.Blocked || res.Condition != publish.LaneLimited || res.Wait < time.Minute || e.applies != 0 {
		t.Errorf("%+v, %d requests", res, e.applies)
	}
	if p, _ := l.Prior(context.Background(), e.Operation().Key()); p.Attempts != 0 {
		t.Errorf("waiting is counted: %+v", p)
	}
	clock = clock.Add(res.Wait)
	if res := ensureOnce(t, l, e, nil); res.Outcome != publish.Passed || e.applies != 1 {
		t.Errorf("%+v, %d requests", res, e.applies)
	}
}

// TestAReceiptIsLookedAtBeforeItIsBelieved: one that holds is kept as the look saw it, one that does not changes
// nothing; only what cannot be looked for is taken at a person's word.
func TestAReceiptIsLookedAtBeforeItIsBelieved(t *testing.T) {
	d := publish.Decision{Step: publish.Syndicate, Action: publish.Confirm, By: "Ada", Receipt: publish.Receipt{ID: "7", URL: "https://x/7"}}
	for name, c := range map[string]struct {
		class    publish.Class
		presence publish.Presence
		want     publish.Outcome
		id       string
	}{
		"seen":           {publish.Reconciled, publish.Present, publish.Passed, "1"},
		"not there":      {publish.Reconciled, publish.Absent, publish.Blocked, ""},
		"someone's":      {publish.Reconciled, publish.Foreign, publish.Blocked, ""},
		"not to be seen": {publish.Idempotent, publish.Absent, publish.Passed, "7"},
	} {
		l := open(t)
		e := &effect{traits: publish.Traits{Class: c.class}, presence: c.presence}
		if c.presence == publish.Present {
			e.stands = 1
		}
		res := (&Steps{Ledger: l}).reconcileOne(context.Background(), e, &d)
		p, _ := l.Prior(context.Background(), e.Operation().Key())
		if res.Outcome != c.want || (p.State == publish.Done) != (c.want == publish.Passed) || p.Receipt.ID != c.id || e.applies != 0 {
			t.Errorf("%s: %+v, the ledger has %+v", name, res, p)
		}
		if c.want == publish.Blocked && (res.Condition != "receipt_not_verified" || res.Next == "" || len(res.Evidence) < 2) {
			t.Errorf("%s: %+v", name, res)
		}
	}
}

// TestWhatCannotBeLookedForIsRepeatedByAPersonAlone: where the remote neither knows a key nor shows what was made, no
// match proves nothing, however often it is looked. A ping, which may come twice, is sent again.
func TestWhatCannotBeLookedForIsRepeatedByAPersonAlone(t *testing.T) {
	policy := publish.Policy{Budget: 3}
	for class, repeats := range map[publish.Class]bool{publish.Unclear: false, publish.Idempotent: true, publish.Reconciled: true} {
		l := open(t)
		e := &effect{traits: publish.Traits{Class: class}, err: errors.New("reset")}
		if res := ensureOnce(t, l, e, nil); res.Outcome != publish.NotConfirmed {
			t.Fatalf("%s: %+v", class, res)
		}
		e.presence = publish.Absent
		for look := range 5 {
			res := (&Steps{Ledger: l}).reconcileOne(context.Background(), e, nil)
			res.Operation = e.Operation().Key()
			if _, may := policy.MayRepeat(res); res.Outcome != publish.NotConfirmed || may != repeats {
				t.Errorf("%s, look %d: repeated %v, %+v", class, look+1, may, res)
			}
		}
		if e.applies != 1 {
			t.Errorf("%s: %d requests", class, e.applies)
		}
	}
}
