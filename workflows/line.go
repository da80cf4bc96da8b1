package workflows

import (
	"time"

	"colophon/publish"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	enumspb "go.temporal.io/api/enums/v1"
)

// Line is the queue in front of one account. Its workflow ID is line/ and the account; deliveries start it when
// there is none, and it ends when nobody stands in it and the account may be used at once.
//
// What a delivery costs its history is the same however many wait. When the history has grown long the line goes on
// in a new run.
func Line(ctx workflow.Context, l publish.Line) error {
	err := workflow.SetQueryHandlerWithOptions(ctx, publish.LineQuery, func() (publish.Line, error) { return l, nil },
		workflow.QueryHandlerOptions{Description: "Who has the account, who waits for it, and when the next turn is"})
	if err != nil {
		return err
	}
	enter := workflow.GetSignalChannelWithOptions(ctx, publish.EnterName, workflow.SignalChannelOptions{Description: "A delivery takes its place; sent by deliveries"})
	leave := workflow.GetSignalChannelWithOptions(ctx, publish.LeaveName, workflow.SignalChannelOptions{Description: "A delivery gives up its place; sent by deliveries"})
	var clock alarm
	for {
		for listen(enter, leave, &l) {
		}
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return workflow.NewContinueAsNewError(ctx, LineName, l)
		}
		tell, again, over := l.Move(workflow.Now(ctx))
		workflow.SetCurrentDetails(ctx, l.Markdown())
		switch {
		case over:
			return nil
		case tell != nil:
			turn(ctx, &l, *tell)
			continue
		}
		s := workflow.NewSelector(ctx)
		s.AddReceive(enter, func(workflow.ReceiveChannel, bool) {})
		s.AddReceive(leave, func(workflow.ReceiveChannel, bool) {})
		if !again.IsZero() {
			s.AddFuture(clock.at(ctx, again), func(workflow.Future) {})
		}
		s.Select(ctx)
	}
}

// listen takes in one message, if there is one.
func listen(enter, leave workflow.ReceiveChannel, l *publish.Line) bool {
	var p publish.Place
	if enter.ReceiveAsync(&p) {
		l.Enter(p)
		return true
	}
	var v publish.Leaving
	if leave.ReceiveAsync(&v) {
		l.Leave(v)
		return true
	}
	return false
}

// turn tells the holder that it is its turn. A holder that cannot be told is no more: it was ended by hand, and what
// it may have left unsettled the ledger knows.
func turn(ctx workflow.Context, l *publish.Line, p publish.Place) {
	l.Nudged = workflow.Now(ctx)
	if err := workflow.SignalExternalWorkflow(ctx, p.Delivery, p.Run, publish.TurnName, l.Account).Get(ctx, nil); err != nil {
		workflow.GetLogger(ctx).Warn("a delivery in the line is no more", "delivery", p.Delivery, "error", err)
		l.Leave(publish.Leaving{Delivery: p.Delivery})
	}
}

// alarm is the one timer that is running.
type alarm struct {
	timer workflow.Future
	when  time.Time
	stop  workflow.CancelFunc
}

// at is a timer that fires at a time: the one that runs, where it does.
func (a *alarm) at(ctx workflow.Context, when time.Time) workflow.Future {
	if a.timer != nil && a.when.Equal(when) && !a.timer.IsReady() {
		return a.timer
	}
	if a.stop != nil {
		a.stop()
	}
	var timed workflow.Context
	timed, a.stop = workflow.WithCancel(ctx)
	a.when = when
	a.timer = workflow.NewTimerWithOptions(timed, when.Sub(workflow.Now(ctx)), workflow.TimerOptions{Summary: "the next turn, or another word to the holder"})
	return a.timer
}

// place is a delivery's place in its account's line.
type place struct {
	account string
	gap     time.Duration // from this delivery to the account's next
	turns   workflow.ReceiveChannel
	held    bool
}

// enter waits in the line until it is the delivery's turn. It does nothing for what needs no line.
func (r *run) enter() {
	p := r.place
	if p == nil || p.held {
		return
	}
	r.wait(&publish.Waiting{
		Step: publish.Syndicate, Channel: r.channel, For: "its turn on " + p.account, Owner: publish.Colophon, Condition: "queued",
		Next: "the queue is on the page of " + publish.LineID(p.account), Since: workflow.Now(r.ctx),
	})
	// A line that was ended by hand has forgotten who waited in it; so each asks again, ever less often.
	for patience := time.Hour; !p.held; patience *= 2 {
		r.queue()
		var account string
		p.held, _ = p.turns.ReceiveWithTimeout(r.ctx, patience, &account)
	}
	r.wait(nil)
}

// queue takes a place: at the head of a line that begins with it, or else behind all others.
func (r *run) queue() {
	info := workflow.GetInfo(r.ctx).WorkflowExecution
	p := publish.Place{Delivery: info.ID, Run: info.RunID, Title: r.req.Intent.Slug, Entered: workflow.Now(r.ctx)}
	id := publish.LineID(r.place.account)
	ctx := workflow.WithChildOptions(r.ctx, workflow.ChildWorkflowOptions{
		WorkflowID: id, ParentClosePolicy: enumspb.PARENT_CLOSE_POLICY_ABANDON, StaticSummary: "One delivery at a time on " + r.place.account,
		TypedSearchAttributes: temporal.NewSearchAttributes(Channel.ValueSet(r.channel)),
	})
	for tries := 1; ; tries++ {
		line := workflow.ExecuteChildWorkflow(ctx, LineName, publish.Line{Account: r.place.account, Queue: []publish.Place{p}})
		if err := line.GetChildWorkflowExecution().Get(ctx, nil); err == nil {
			return
		}
		if err := workflow.SignalExternalWorkflow(r.ctx, id, "", publish.EnterName, p).Get(r.ctx, nil); err == nil {
			return
		}
		_ = workflow.Sleep(r.ctx, publish.Backoff(tries)) // it has ended in between
	}
}

// leave gives the account to the next, after the gap. It does nothing for who does not hold it.
func (r *run) leave() {
	p := r.place
	if p == nil || !p.held {
		return
	}
	p.held = false
	// A millisecond more than the ledger keeps the account shut, which counts in whole ones.
	opens := workflow.Now(r.ctx).Add(p.gap).Truncate(time.Millisecond).Add(2 * time.Millisecond)
	v := publish.Leaving{Delivery: workflow.GetInfo(r.ctx).WorkflowExecution.ID, Opens: opens}
	err := workflow.SignalExternalWorkflow(r.ctx, publish.LineID(p.account), "", publish.LeaveName, v).Get(r.ctx, nil)
	if err != nil {
		workflow.GetLogger(r.ctx).Warn("the line that was held is no more", "account", p.account, "error", err)
	}
}
