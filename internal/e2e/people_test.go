package e2e

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"colophon/publish"

	"go.temporal.io/sdk/testsuite"
)

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
