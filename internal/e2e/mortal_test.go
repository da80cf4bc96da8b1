package e2e

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"colophon/internal/ledger"
	"colophon/publish"
)

// killed is what a process that dies leaves of a step.
const killed = "the process was killed"

// mortal is a ledger whose process dies at chosen instants, and around whose attempts things can be made to
// happen. Every instant is passed under a name that is the same in every run.
type mortal struct {
	*ledger.Ledger

	over chan struct{} // closed when the simulation is

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
	// alone keeps what happens around attempts apart: deliveries go on side by side.
	alone sync.Mutex
}

func (m *mortal) apart(f func()) {
	m.alone.Lock()
	defer m.alone.Unlock()
	f()
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

// named is a change's name, with that of its channel.
func named(op publish.Operation) string { return strings.TrimSpace(op.Channel + " " + op.What) }

// Attempt dies as a killed process does: whatever it was to write after that is never written. The real
// attempt is then left waiting in a goroutine that nobody hears of again, its row in flight.
func (m *mortal) Attempt(ctx context.Context, op publish.Operation, a *publish.Approval,
	apply func(context.Context, publish.Prior) (publish.Receipt, error),
) (publish.Attempted, error) {
	m.instant(named(op) + beforeClaim)
	m.rendezvous(named(op))
	type answer struct {
		publish.Attempted
		err error
	}
	dead, done := make(chan struct{}), make(chan answer, 1)
	dies := func(at string) {
		if m.dead(named(op) + at) {
			close(dead)
			<-m.over // nothing of this process goes on while anybody could see it
			runtime.Goexit()
		}
	}
	go func() {
		got, err := m.Ledger.Attempt(ctx, op, a, func(ctx context.Context, p publish.Prior) (publish.Receipt, error) {
			dies(beforeCall)
			var after func()
			m.apart(func() {
				if m.around != nil {
					after = m.around(op)
				}
			})
			r, err := apply(ctx, p)
			m.apart(func() {
				if after != nil {
					after()
				}
			})
			dies(afterEffect)
			return r, err
		})
		done <- answer{got, err}
	}()
	select {
	case <-dead:
		panic(killed)
	case got := <-done:
		m.instant(named(op) + afterLedger)
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
	m.instant(named(op) + duringLook)
	defer m.instant(named(op) + ": when it was found")
	return m.Ledger.Confirm(ctx, op, r, e)
}

func (m *mortal) Settle(ctx context.Context, r publish.Record) (publish.Record, error) {
	m.instant("settle: before")
	defer m.instant("settle: after")
	return m.Ledger.Settle(ctx, r)
}
