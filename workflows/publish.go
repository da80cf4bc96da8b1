package workflows

import (
	"colophon/publish"

	"go.temporal.io/sdk/workflow"
)

// The workflows' names.
const (
	PublishName = "Publish"
	DeliverName = "Deliver"
	LineName    = "Line"
)

// Publish runs one intent to its terminal record. Its workflow ID is the intent's key; under any other
// it refuses to run. An intent that has a terminal record already is answered with that record.
func Publish(ctx workflow.Context, req publish.Request) (publish.Record, error) {
	r, err := begin(ctx, req, "")
	if err != nil {
		return publish.Record{}, err
	}
	known, err := r.admit()
	if err != nil || known != nil {
		return orZero(known), err
	}
	for _, step := range []publish.Step{
		publish.Draft, publish.Validate, publish.Branch, publish.PullRequest, publish.Merge, publish.VerifyLive,
	} {
		if _, action := r.settle(step); action != "" {
			return r.close(publish.FailedStep)
		}
	}
	outcome := r.syndicate()
	r.sweep()
	return r.close(outcome)
}

// sweep removes what a request that arrived late has left behind. Only where an answer was lost can one be
// under way still, and then it is given time to arrive. What cannot be swept does not change the outcome.
func (r *run) sweep() {
	if workflow.GetVersion(r.ctx, "sweep", workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		return
	}
	if d := r.req.Policy.StrayDelay; d > 0 && (r.record.Unclear(publish.Branch) || r.record.Unclear(publish.PullRequest)) {
		r.pause(publish.Sweep, d, "requests that may arrive late", publish.Result{})
	}
	r.settle(publish.Sweep)
}

// admit binds the key to its inputs; it answers the terminal record of an intent that has one.
func (r *run) admit() (*publish.Record, error) {
	var a publish.Admission
	ctx := workflow.WithActivityOptions(r.ctx, options(publish.Admit, "Bind the key to its inputs"))
	if err := workflow.ExecuteActivity(ctx, string(publish.Admit), r.req.Intent).Get(r.ctx, &a); err != nil {
		return nil, err
	}
	if a.Publication.Record != nil {
		r.record = *a.Publication.Record
		r.show()
		return a.Publication.Record, nil
	}
	if a.Publication.Plan != nil {
		r.record.Plan = *a.Publication.Plan
	}
	r.note(publish.Admit, publish.Result{Outcome: publish.Passed}, "")
	return nil, nil
}

// close writes the terminal record; what the ledger holds is the answer.
func (r *run) close(outcome publish.Outcome) (publish.Record, error) {
	r.record.Waiting = nil
	r.record.Outcome, r.record.Closed = outcome, workflow.Now(r.ctx)
	r.show()
	r.mark(outcome, publish.Close)
	_ = workflow.Await(r.ctx, func() bool { return workflow.AllHandlersFinished(r.ctx) })
	ctx := workflow.WithActivityOptions(r.ctx, options(publish.Close, "Write the terminal record"))
	var kept publish.Record
	err := workflow.ExecuteActivity(ctx, string(publish.Close), r.record).Get(r.ctx, &kept)
	return kept, err
}

func orZero(r *publish.Record) publish.Record {
	if r == nil {
		return publish.Record{}
	}
	return *r
}
