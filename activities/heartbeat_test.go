package activities

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"colophon/publish"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
)

// slow is a ledger that does not answer before a heartbeat was heard.
type slow struct {
	Ledger
	heard chan struct{}
}

var errSlow = errors.New("slow")

func (s slow) wait() error {
	select {
	case <-s.heard:
	case <-time.After(3 * heartbeatAfter):
	}
	return errSlow
}

func (s slow) Admit(context.Context, publish.Intent) (publish.Admission, error) {
	return publish.Admission{}, s.wait()
}

func (s slow) Kept(context.Context, publish.Key, int, string) (publish.Digest, []byte, bool, error) {
	return "", nil, false, s.wait()
}

func (s slow) Artifact(context.Context, publish.Digest) ([]byte, error) { return nil, s.wait() }

func (s slow) Settle(_ context.Context, r publish.Record) (publish.Record, error) { return r, s.wait() }

// TestEveryStepIsHeardOfWhileItTakesLong runs each step on a ledger that is slow: Temporal would take the worker
// of a silent step for dead.
func TestEveryStepIsHeardOfWhileItTakesLong(t *testing.T) {
	var all sync.WaitGroup
	for step, input := range map[publish.Step]any{
		publish.Admit: publish.Intent{}, publish.Draft: publish.Task{}, publish.Validate: publish.Task{}, publish.Branch: publish.Task{},
		publish.PullRequest: publish.Task{}, publish.Merge: publish.Task{}, publish.VerifyLive: publish.Task{}, publish.Syndicate: publish.Task{},
		publish.Reconcile: publish.Task{}, publish.Close: publish.Record{},
	} {
		all.Go(func() {
			heard := make(chan struct{})
			var suite testsuite.WorkflowTestSuite
			env := suite.NewTestActivityEnvironment()
			var once sync.Once
			env.SetOnActivityHeartbeatListener(func(*activity.Info, converter.EncodedValues) { once.Do(func() { close(heard) }) })
			env.RegisterActivity(&Steps{Ledger: slow{heard: heard}})
			_, _ = env.ExecuteActivity(string(step), input)
			select {
			case <-heard:
			default:
				t.Errorf("%s was silent", step)
			}
		})
	}
	all.Wait()
}
