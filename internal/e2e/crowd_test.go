package e2e

import (
	"context"
	"reflect"
	"slices"
	"sync"

	"colophon/internal/service"
	"colophon/publish"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"
)

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
