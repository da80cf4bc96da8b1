package workflows

import (
	"fmt"

	"colophon/publish"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// Deliver announces a live article on one channel. Its workflow ID is the key, a slash and the channel's
// name. It fixes the announcement, waits for its turn on the account, and holds the account until what was sent is
// settled, however long that takes.
func Deliver(ctx workflow.Context, req publish.DeliveryRequest) (publish.Delivery, error) {
	r, err := begin(ctx, req.Request, req.Channel)
	if err != nil {
		return publish.Delivery{}, err
	}
	r.record.Plan, r.record.State = req.Plan, publish.LiveVerified
	res, action := r.announce()
	d := publish.Delivery{Channel: req.Channel, Outcome: res.Outcome, Skipped: action == publish.Skip || res.Condition == publish.NotAnnouncedAgain, Detail: res.Detail}
	if len(res.Receipts) > 0 {
		d.Receipt = res.Receipts[len(res.Receipts)-1].Receipt
	}
	r.record.Waiting, r.record.Outcome = nil, res.Outcome
	r.record.Deliveries = []publish.Delivery{d}
	r.show()
	r.mark(res.Outcome, publish.Syndicate)
	err = workflow.Await(r.ctx, func() bool { return workflow.AllHandlersFinished(r.ctx) })
	return d, err
}

// announce prepares, waits for the account, and sends.
func (r *run) announce() (publish.Result, publish.Action) {
	if workflow.GetVersion(r.ctx, "line", workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		return r.settle(publish.Syndicate)
	}
	res, action := r.settle(publish.Prepare)
	if action == publish.Skip || action == publish.Abandon || res.Condition == publish.NotAnnouncedAgain {
		return res, action
	}
	if res.Line != "" {
		r.place = &place{account: res.Line, gap: res.Gap, turns: workflow.GetSignalChannel(r.ctx, publish.TurnName)}
	}
	r.enter()
	defer r.leave()
	return r.settle(publish.Syndicate)
}

// syndicate starts one delivery for each channel, side by side, and waits until all are settled. One that
// fails does not stop the others.
func (r *run) syndicate() publish.Outcome {
	r.record.Deliveries = make([]publish.Delivery, len(r.req.Intent.Channels))
	r.now(publish.Syndicate, fmt.Sprintf("%d channels", len(r.req.Intent.Channels)))
	wg := workflow.NewWaitGroup(r.ctx)
	for n, channel := range r.req.Intent.Channels {
		r.record.Deliveries[n] = publish.Delivery{Channel: channel}
		wg.Add(1)
		workflow.GoNamed(r.ctx, channel, func(ctx workflow.Context) {
			defer wg.Done()
			r.record.Deliveries[n] = r.deliver(ctx, channel)
			r.show()
		})
	}
	wg.Wait(r.ctx)
	for _, d := range r.record.Deliveries {
		if d.Outcome != publish.Passed && !d.Skipped {
			return publish.FailedStep
		}
	}
	r.record.State = publish.Syndicated
	return publish.Passed
}

// deliver runs one delivery to its end. A delivery of that name that is already running, left by an
// earlier run of this intent, is waited for and then asked again: it answers from the ledger.
func (r *run) deliver(ctx workflow.Context, channel string) publish.Delivery {
	in := r.req.Intent
	ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID: publish.DeliveryID(in.Key, channel), ParentClosePolicy: enumspb.PARENT_CLOSE_POLICY_ABANDON,
		StaticSummary: "Announce " + in.Slug + " on " + channel,
		TypedSearchAttributes: temporal.NewSearchAttributes(
			Campaign.ValueSet(in.Key.Campaign()), Date.ValueSet(string(in.Date)), Channel.ValueSet(channel)),
	})
	for waits := 1; ; waits++ {
		d := publish.Delivery{Channel: channel}
		err := workflow.ExecuteChildWorkflow(ctx, DeliverName, publish.DeliveryRequest{Request: r.req, Plan: r.record.Plan, Channel: channel}).Get(ctx, &d)
		if temporal.IsWorkflowExecutionAlreadyStartedError(err) {
			_ = workflow.Sleep(ctx, publish.Backoff(waits))
			continue
		}
		if err != nil {
			d.Outcome, d.Detail = publish.FailedStep, reason(err)
		}
		return d
	}
}
