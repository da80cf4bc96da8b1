// Package effecttest is the contract that every effect must keep, whatever the remote.
package effecttest

import (
	"context"
	"errors"
	"testing"
	"time"

	"colophon/internal/permit"
	"colophon/publish"
)

// Subject is one effect with its remote, both fresh.
type Subject struct {
	// Effect makes the effect anew, as another process would.
	Effect func(t *testing.T) publish.Effect
	// Count is how often the effect stands at the remote.
	Count func() int
	// Fault orders one fault for the effect's next request, by the name of its kind.
	Fault func(kind string)
	// Refuse makes the remote refuse connections, or accept them again.
	Refuse func(refuse bool)
	// Blind is set for an effect that cannot be looked for.
	Blind bool
	// Bodiless is set where an answer's status says all there is to say.
	Bodiless bool
}

var bg = context.Background()

// Run checks an effect; open answers a fresh subject.
func Run(t *testing.T, open func(t *testing.T) Subject) {
	for name, f := range map[string]func(*testing.T, Subject){
		"IsAbsentUntilItIsDone":       absent,
		"IsPresentOnceItIsDone":       present,
		"NeedsAPermit":                guarded,
		"RefusedConnectionIsNotSent":  refused,
		"KeyIsTheSameEverywhere":      stable,
		"TraitsAgreeWithOneAnother":   traits,
		"EndedContextIsNoTrustedWord": ended,
	} {
		t.Run(name, func(t *testing.T) { f(t, open(t)) })
	}
	for kind, lands := range map[string]bool{
		"reset_before": false, "reset_after": true, "status_before": false, "status_after": true,
		"cut_body": true, "empty_body": true, "wrong_type": true,
	} {
		t.Run("Unclear/"+kind, func(t *testing.T) { unclear(t, open(t), kind, lands) })
	}
}

func absent(t *testing.T, s Subject) {
	f, err := s.Effect(t).Find(bg, publish.Prior{})
	if err != nil || f.Presence != publish.Absent || len(f.Evidence) == 0 || s.Count() != 0 {
		t.Errorf("%+v, %v; %d at the remote", f, err, s.Count())
	}
}

func present(t *testing.T, s Subject) {
	r, err := s.Effect(t).Apply(permit.Grant(bg), publish.Prior{})
	if err != nil || r.Empty() || s.Count() != 1 {
		t.Fatalf("%+v, %v; %d at the remote", r, err, s.Count())
	}
	seen(t, s, true)
}

// seen looks as a later process would, for an attempt that began a little ago.
func seen(t *testing.T, s Subject, want bool) {
	t.Helper()
	prior := publish.Prior{State: publish.Unconfirmed, Attempts: 1, First: time.Now().Add(-time.Minute), Last: time.Now().Add(-time.Minute)}
	f, err := s.Effect(t).Find(bg, prior)
	if err != nil {
		t.Fatal(err)
	}
	if got := f.Presence == publish.Present; got != (want && !s.Blind) || got && f.Receipt.Empty() || len(f.Evidence) == 0 {
		t.Errorf("the look saw %+v", f)
	}
}

func guarded(t *testing.T, s Subject) {
	e := s.Effect(t)
	if _, err := e.Apply(bg, publish.Prior{}); !errors.Is(err, permit.ErrNone) || s.Count() != 0 {
		t.Errorf("without a permit: %v; %d at the remote", err, s.Count())
	}
	ctx := permit.Grant(bg)
	if _, err := e.Apply(ctx, publish.Prior{}); err != nil {
		t.Fatal(err)
	}
	if permit.Spend(ctx) == nil {
		t.Error("it was done without its permit")
	}
}

func refused(t *testing.T, s Subject) {
	e := s.Effect(t)
	s.Refuse(true)
	_, err := e.Apply(permit.Grant(bg), publish.Prior{})
	s.Refuse(false)
	if got := publish.AsTrouble(err); err == nil || got.Kind != publish.NotSent {
		t.Errorf("%s: %v", got.Kind, err)
	}
	seen(t, s, false)
}

func unclear(t *testing.T, s Subject, kind string, lands bool) {
	e := s.Effect(t)
	s.Fault(kind)
	r, err := e.Apply(permit.Grant(bg), publish.Prior{})
	count := map[bool]int{true: 1, false: 0}[lands]
	if s.Count() != count {
		t.Fatalf("the fault did not do what it says: %d at the remote", s.Count())
	}
	if err == nil && !(s.Bodiless && lands && !r.Empty()) {
		t.Errorf("believed: %+v", r)
	}
	if err != nil {
		if got := publish.AsTrouble(err); got.Kind != publish.Unknown {
			t.Errorf("%s: %v", got.Kind, err)
		}
	}
	seen(t, s, lands)
}

func stable(t *testing.T, s Subject) {
	a, b := s.Effect(t).Operation(), s.Effect(t).Operation()
	if a != b || len(a.Key()) != 64 || a.Intent == "" || a.Destination == "" || a.ContentID == "" || a.Revision < 1 || a.What == "" || a.Text == "" {
		t.Errorf("%+v, %+v", a, b)
	}
}

func traits(t *testing.T, s Subject) {
	tr := s.Effect(t).Traits()
	switch tr.Class {
	case publish.Idempotent, publish.Reconciled, publish.Unclear:
	default:
		t.Errorf("class %q", tr.Class)
	}
	if s.Blind && (tr.Class == publish.Reconciled || tr.LookAfter || tr.LookFirst) {
		t.Errorf("cannot be looked for, and declares %+v", tr)
	}
}

func ended(t *testing.T, s Subject) {
	e := s.Effect(t)
	ctx, cancel := context.WithCancel(permit.Grant(bg))
	cancel()
	_, err := e.Apply(ctx, publish.Prior{})
	if got := publish.AsTrouble(err); err == nil || got.Kind == publish.Rejected {
		t.Errorf("%s: %v", got.Kind, err)
	}
}
