package workflows

import (
	"fmt"

	"colophon/publish"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// The search attributes that a run carries.
var (
	Outcome  = temporal.NewSearchAttributeKeyKeyword("ColophonOutcome")
	Step     = temporal.NewSearchAttributeKeyKeyword("ColophonStep")
	Campaign = temporal.NewSearchAttributeKeyKeyword("ColophonCampaign")
	Channel  = temporal.NewSearchAttributeKeyKeyword("ColophonChannel")
	Date     = temporal.NewSearchAttributeKeyKeyword("ColophonDate")
)

// RefusedType is the type of the application error of a run that refuses to begin.
const RefusedType = "Refused"

// run is one workflow at work: what it was asked, its record, and the decisions that reach it.
type run struct {
	ctx       workflow.Context
	req       publish.Request
	channel   string // of a delivery
	place     *place // of a delivery, in its account's line
	record    publish.Record
	decisions workflow.Channel
}

// begin checks that the workflow is who it says, and opens it to people: the query record, the update
// and the signal decide.
func begin(ctx workflow.Context, req publish.Request, channel string) (*run, error) {
	info := workflow.GetInfo(ctx)
	want := string(req.Intent.Key)
	if channel != "" {
		want = publish.DeliveryID(req.Intent.Key, channel)
	}
	if info.WorkflowExecution.ID != want {
		return nil, refuse(fmt.Sprintf("this workflow's ID is %q, the intent's is %q: start it under the intent's", info.WorkflowExecution.ID, want))
	}
	if err := req.Intent.Check(); err != nil {
		return nil, refuse(err.Error())
	}
	r := &run{
		ctx: ctx, req: req, channel: channel, decisions: workflow.NewBufferedChannel(ctx, 16),
		record: publish.Record{
			Intent: req.Intent, Fingerprint: req.Intent.Fingerprint(), Runs: []string{info.WorkflowExecution.RunID},
		},
	}
	if err := r.listen(); err != nil {
		return nil, err
	}
	r.show()
	return r, nil
}

func refuse(message string) error {
	return temporal.NewNonRetryableApplicationError(message, RefusedType, nil)
}

// task is what a step is given.
func (r *run) task(step publish.Step) publish.Task {
	t := publish.Task{Step: step, Intent: r.req.Intent, Plan: r.record.Plan, Channel: r.channel}
	if step == publish.VerifyLive {
		t.Deadline = workflow.Now(r.ctx).Add(r.req.Policy.LiveDeadline)
	}
	return t
}

// note writes a result onto the record and shows it.
func (r *run) note(step publish.Step, res publish.Result, by string) {
	r.record.Note(step, res, workflow.Now(r.ctx), by)
	r.show()
}

func (r *run) wait(w *publish.Waiting) {
	r.record.Waiting = w
	r.show()
}

// show renders the record on the run's page.
func (r *run) show() { workflow.SetCurrentDetails(r.ctx, r.record.Markdown()) }

func (r *run) now(step publish.Step, doing string) {
	if doing == "" {
		doing = "at work"
	}
	r.wait(&publish.Waiting{Step: step, Channel: r.channel, For: fmt.Sprintf("%s, %s", step, doing), Owner: publish.Colophon, Since: workflow.Now(r.ctx)})
}

// summary is one line for the timeline.
func (r *run) summary(step publish.Step) string {
	in, p := r.req.Intent, r.record.Plan
	switch step {
	case publish.Draft:
		return "Keep the draft of " + in.Slug
	case publish.Validate:
		return "Check the draft and " + in.Repository + ", fix the commit"
	case publish.Branch:
		return fmt.Sprintf("Create branch %s at %s", p.Branch, p.Commit.Short())
	case publish.PullRequest:
		return "Open the pull request for " + p.Branch
	case publish.Merge:
		return fmt.Sprintf("Merge pull request %d at %s", p.PullRequest, p.Commit.Short())
	case publish.VerifyLive:
		return "See the article live at " + string(in.URL)
	case publish.Sweep:
		return "See that no branch or pull request was left behind"
	case publish.Prepare:
		return "Fix what will be said on " + r.channel
	case publish.Syndicate:
		return "Announce it on " + r.channel
	default:
		return string(step)
	}
}

// mark sets the search attributes that change; what is known at the start is given there, for free.
func (r *run) mark(outcome publish.Outcome, step publish.Step) {
	_ = workflow.UpsertTypedSearchAttributes(r.ctx, Outcome.ValueSet(string(outcome)), Step.ValueSet(string(step)))
}
