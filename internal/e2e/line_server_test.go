package e2e

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"testing"
	"time"

	"colophon/internal/devenv/temporal"
	"colophon/internal/service"
	"colophon/publish"
	"colophon/workflows"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	enumspb "go.temporal.io/api/enums/v1"
)

const crowded = "example:test/1"

// visit is when a delivery had the account.
type visit struct{ From, To time.Time }

// visitor is a workflow of the test alone: it stands in the line as a delivery does, and delivers nothing. The first
// keeps the account until all others stand behind it.
func visitor(ctx workflow.Context, first bool) (visit, error) {
	info := workflow.GetInfo(ctx).WorkflowExecution
	p := publish.Place{Delivery: info.ID, Run: info.RunID, Title: info.ID, Entered: workflow.Now(ctx)}
	id := publish.LineID(crowded)
	child := workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{WorkflowID: id, ParentClosePolicy: enumspb.PARENT_CLOSE_POLICY_ABANDON})
	if !first {
		if err := workflow.SignalExternalWorkflow(ctx, id, "", publish.EnterName, p).Get(ctx, nil); err != nil {
			return visit{}, err
		}
	} else if err := workflow.ExecuteChildWorkflow(child, workflows.LineName, publish.Line{Account: crowded, Queue: []publish.Place{p}}).GetChildWorkflowExecution().Get(ctx, nil); err != nil {
		return visit{}, err
	}
	var account string
	workflow.GetSignalChannel(ctx, publish.TurnName).Receive(ctx, &account)
	v := visit{From: workflow.Now(ctx)}
	if first {
		workflow.GetSignalChannel(ctx, "go").Receive(ctx, nil)
	}
	v.To = workflow.Now(ctx)
	return v, workflow.SignalExternalWorkflow(ctx, id, "", publish.LeaveName, publish.Leaving{Delivery: info.ID}).Get(ctx, nil)
}

// TestALineGoesOnInNewRuns has hundreds stand in one line of a real server, which wants histories to be short: none is
// forgotten from run to run, no two have the account at once, and each costs the line as many events as any other.
func TestALineGoesOnInNewRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a Temporal server; left out with -short")
	}
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	binary, err := temporal.Find(ctx, os.Stderr)
	must(t, err)
	server, err := temporal.Start(ctx, temporal.Options{Binary: binary, Headless: true, SearchAttributes: service.SearchAttributes, Settings: []string{"limit.historyCount.suggestContinueAsNew=400"}})
	must(t, err)
	t.Cleanup(func() { server.Stop() })
	c, err := service.Dial(ctx, client.Options{HostPort: server.Address()}, slog.New(slog.NewTextHandler(io.Discard, nil)))
	must(t, err)
	t.Cleanup(c.Close)
	w := worker.New(c.Client, "line", worker.Options{})
	w.RegisterWorkflowWithOptions(workflows.Line, workflow.RegisterOptions{Name: workflows.LineName})
	w.RegisterWorkflow(visitor)
	must(t, w.Start())
	t.Cleanup(w.Stop)

	const visitors = 300
	var runs []client.WorkflowRun
	for n := range visitors {
		run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: fmt.Sprintf("visitor-%03d", n), TaskQueue: "line"}, visitor, n == 0)
		must(t, err)
		runs = append(runs, run)
		standing(ctx, t, c, min(n, 1)) // the first before all others; then as they come
	}
	standing(ctx, t, c, visitors-1)
	must(t, c.SignalWorkflow(ctx, runs[0].GetID(), "", "go", nil))
	var visits []visit
	for _, run := range runs {
		var v visit
		must(t, run.Get(ctx, &v))
		visits = append(visits, v)
	}
	slices.SortFunc(visits, func(a, b visit) int { return a.From.Compare(b.From) })
	for n := 1; n < len(visits); n++ {
		if visits[n].From.Before(visits[n-1].To) {
			t.Errorf("one had the account until %s, the next from %s", visits[n-1].To, visits[n].From)
		}
	}
	must(t, c.GetWorkflow(ctx, publish.LineID(crowded), "").Get(ctx, nil))
	lines, events := chain(ctx, t, c)
	last := line(ctx, t, c)
	t.Logf("%d visitors, %d runs of the line, %d events, %.1f for each", visitors, lines, events, float64(events)/visitors)
	if last.Served != visitors || last.Holder != nil || len(last.Queue) != 0 {
		t.Errorf("the line ended with %+v", last)
	}
	if lines < 3 {
		t.Errorf("%d runs: the line did not go on in new ones", lines)
	}
	if each := float64(events) / visitors; each > 16 {
		t.Errorf("%.1f events for each delivery", each)
	}
}

// line asks the line how it stands; an empty one where there is none yet.
func line(ctx context.Context, t *testing.T, c service.Connection) (l publish.Line) {
	t.Helper()
	v, err := c.QueryWorkflow(ctx, publish.LineID(crowded), "", publish.LineQuery)
	if err == nil {
		must(t, v.Get(&l))
	}
	return l
}

// standing waits until so many stand in the line behind its holder.
func standing(ctx context.Context, t *testing.T, c service.Connection, n int) {
	t.Helper()
	for {
		if l := line(ctx, t, c); l.Holder != nil && len(l.Queue) >= n {
			return
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("no %d stand in the line", n)
		}
	}
}

// chain counts the runs of the line and their events, from the last back to the first.
func chain(ctx context.Context, t *testing.T, c service.Connection) (runs, events int) {
	t.Helper()
	for run := ""; ; {
		before := ""
		all := c.GetWorkflowHistory(ctx, publish.LineID(crowded), run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for all.HasNext() {
			e, err := all.Next()
			must(t, err)
			if begun := e.GetWorkflowExecutionStartedEventAttributes(); begun != nil {
				before = begun.GetContinuedExecutionRunId()
			}
			events++
		}
		runs++
		if run = before; run == "" {
			return runs, events
		}
	}
}
