package e2e

import (
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"colophon/internal/config"
	"colophon/internal/sandbox/fault"
	"colophon/publish"
)

// boundary is one change that a run makes, as the ledger and as the wire see it.
type boundary struct {
	op     publish.Operation
	server string
	change fault.Change
	skip   int // requests of the same method and path that come before it
	// scene is what must have happened for the change to be made at all.
	scene func(*simulation)
}

func (b boundary) String() string { return b.server + " " + b.op.What }

// rule is a fault for the boundary's own request.
func (b boundary) rule(r fault.Rule) fault.Rule {
	r.Method, r.Path, r.Skip = b.change.Method, "^"+regexp.QuoteMeta(b.change.Path)+"$", b.skip
	return r
}

// step is the one in which the change is made.
func (b boundary) step() publish.Step {
	switch {
	case b.op.Channel != "":
		return publish.Syndicate
	case b.op.What == "tree" || b.op.What == "commit" || b.op.What == "branch":
		return publish.Branch
	case b.op.What == publish.PullRequestName:
		return publish.PullRequest
	case b.op.What == "sweep":
		return publish.Sweep
	}
	return publish.Merge
}

// requests are how many for the change have arrived.
func (b boundary) requests(s *simulation) (n int) {
	for _, c := range s.layer(b.server).Changes() {
		if c == b.change {
			n++
		}
	}
	return n - b.skip
}

// TestBoundaries puts every trouble on every change that a run makes, and lets the process die at every instant
// around it, on simulated time. The changes are those that runs are seen to make, and must be all that are
// registered, so that one that is added later cannot be forgotten. Whatever happens, the run ends with one of
// everything, counted at the servers; who was asked about what is part of each case.
func TestBoundaries(t *testing.T) {
	all, instants := found(t)
	var sum tally
	t.Run("cases", func(t *testing.T) {
		for _, b := range all {
			for _, tr := range troubles() {
				if tr.at != nil && !tr.at(b) {
					continue
				}
				deaths := []string{"", named(b.op) + beforeCall, named(b.op) + afterLedger, "observe: before"}
				if testing.Short() {
					deaths = deaths[:1]
				}
				for _, death := range deaths {
					check(t, &sum, b, tr, death)
				}
			}
			for _, at := range []string{beforeClaim, afterEffect, duringLook} {
				check(t, &sum, b, trouble{}, named(b.op)+at)
			}
		}
		for _, at := range instants {
			check(t, &sum, all[0], trouble{}, at)
		}
	})
	fmt.Printf("boundaries: cases=%d duplicates=%d lost=%d unsettled=%d\n", sum.cases.Load(), sum.duplicates.Load(), sum.lost.Load(), sum.unsettled.Load())
	if sum.cases.Load() < 300 {
		t.Errorf("only %d cases", sum.cases.Load())
	}
}

func check(t *testing.T, sum *tally, b boundary, tr trouble, death string) {
	name := b.String() + ", " + tr.name
	if death != "" {
		name += ", dies " + death
	}
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		if sum.enough.Load() {
			t.Skip("another case has failed already")
		}
		defer func() { sum.enough.CompareAndSwap(false, t.Failed() && failFast()) }()
		o := setup{keyed: tr.keyed}
		if tr.double {
			for nth := range len(channels) { // whichever comes first
				o.doubles = append(o.doubles, double{b.step(), nth + 1})
			}
		}
		if tr.named != nil {
			tr.named(&o, &tr)
		}
		s := simulate(t, o)
		b.arrange(s, tr, death)
		in := s.everywhere()
		runs, err := s.run(tick{Intent: in})
		bal := s.balance([]publish.Intent{in}, runs, nil, err)
		sum.add(bal)
		for _, f := range bal.faults {
			t.Error(f)
		}
		if n := b.requests(s); tr.once && n != 1 {
			t.Errorf("%d requests, where a look tells when to make the one", n)
		}
		if got, want := s.people.conditions(), tr.asked(b, death); !slices.Equal(got, want) {
			t.Errorf("a person was asked about %v, want %v", got, want)
		}
	})
}

// channels are one of each kind.
var channels = config.Kinds()

// everywhere is the intent, announced on every channel.
func (s *simulation) everywhere() publish.Intent {
	in := s.intent(key)
	in.Channels = channels
	return in
}

// failFast says whether -failfast was given, which by itself does not hold up what runs side by side.
func failFast() bool { return flag.Lookup("test.failfast").Value.String() == "true" }

// arrange orders the trouble and the death.
func (b boundary) arrange(s *simulation, tr trouble, death string) {
	if b.scene != nil {
		b.scene(s)
	}
	for _, r := range tr.rules {
		s.layer(b.server).Add(b.rule(r))
	}
	if tr.set != nil {
		s.world.GitHub.Set(tr.set)
	}
	if tr.around != nil {
		done := false
		s.ledger.around = func(op publish.Operation) func() {
			if done || named(op) != named(b.op) {
				return nil
			}
			done = true
			return tr.around(s, b)
		}
	}
	if tr.double {
		s.ledger.meet = named(b.op)
	}
	if death != "" {
		s.ledger.die(death, 1)
	}
}

// found runs without faults, and answers the changes that were made and the instants that were passed.
func found(t *testing.T) (all []boundary, instants []string) {
	t.Helper()
	// A branch that comes back after its removal, because the request to create it arrived late: what sweeping
	// is for.
	stray := func(s *simulation) {
		s.world.GitHubFaults.Add(fault.Rule{Method: "POST", Path: "/git/refs$", Kind: fault.LateEffect, Lands: &fault.Landing{Method: "DELETE", After: 1, Behind: true}})
	}
	registered := map[string]bool{}
	for _, scene := range []func(*simulation){nil, stray} {
		s := simulate(t, setup{})
		if scene != nil {
			scene(s)
		}
		s.ledger.around = func(op publish.Operation) func() {
			layer := s.layer(server(op))
			before := layer.Changes()
			return func() {
				c := layer.Changes()[len(before)]
				skip := 0
				for _, was := range before {
					if was == c {
						skip++
					}
				}
				known := slices.ContainsFunc(all, func(b boundary) bool { return b.op.What == op.What && b.server == server(op) })
				if !known {
					all = append(all, boundary{op, server(op), c, skip, scene})
				}
			}
		}
		in := s.everywhere()
		runs, err := s.run(tick{Intent: in})
		if b := s.balance([]publish.Intent{in}, runs, nil, err); len(b.faults) > 0 {
			t.Fatalf("a run without trouble does not end well: %v", b.faults)
		}
		for _, at := range s.ledger.instants() {
			if scene == nil && !strings.Contains(at, afterEffect) && !strings.Contains(at, beforeClaim) {
				instants = append(instants, at)
			}
		}
		for _, step := range []publish.Step{publish.Draft, publish.Validate, publish.Branch, publish.PullRequest, publish.Merge, publish.VerifyLive, publish.Syndicate, publish.Sweep} {
			for _, e := range s.steps.Repository.Effects(step, s.intent(key), runs[0].Record.Plan, nil) {
				registered[e.Operation().What] = true
			}
		}
	}
	for what := range registered {
		if !slices.ContainsFunc(all, func(b boundary) bool { return b.op.What == what }) {
			t.Errorf("no run makes the change %q: bring about a scene in which it is made", what)
		}
	}
	if len(all) != len(registered)+len(channels) {
		t.Errorf("%d changes at the servers, of %d registered and %d channels", len(all), len(registered), len(channels))
	}
	return all, instants
}
