package e2e

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"colophon/internal/sandbox/fault"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	commonpb "go.temporal.io/api/common/v1"
)

// TestAKeyKeepsItsInputs asks for the same key with another topic, while it runs, after it has ended, and
// after Temporal has forgotten it; and for the same with the same inputs.
func TestAKeyKeepsItsInputs(t *testing.T) {
	w := start(t)
	w.World.SiteFaults.Add(fault.Rule{Path: "^/posts/", Times: -1, Kind: fault.StatusBefore, Status: 503})
	w.begin()

	calendar, err := os.ReadFile(w.Config.Calendar)
	if err != nil {
		t.Fatal(err)
	}
	topic := "Why a publishing run may be repeated, and its effects may not"
	changed := strings.Replace(string(calendar), topic, "Something else altogether", 1)
	put := func(text string) {
		if err := os.WriteFile(w.Config.Calendar, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(when string) {
		t.Helper()
		put(changed)
		code, out, errOut := w.starter("publish", string(key))
		for _, want := range []string{"topic", topic, "Something else altogether"} {
			if code != 3 || !strings.Contains(errOut, want) {
				t.Errorf("%s: exit code %d, %s%s; want %q", when, code, out, errOut, want)
			}
		}
		put(string(calendar))
	}
	same := func(when, want string) {
		t.Helper()
		if code, out, errOut := w.starter("publish", string(key), "--json"); code != 0 || !strings.Contains(out, `"answer":"`+want+`"`) {
			t.Errorf("%s: exit code %d, %.200s%s; want %s", when, code, out, errOut, want)
		}
	}
	refused("while it runs")
	same("while it runs", "joined")

	w.World.SiteFaults.Clear()
	rec := w.finish()
	refused("after it has ended")
	same("after it has ended", "published")

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	forget(t, ctx, w)
	refused("after it was forgotten")
	same("after it was forgotten", "published")
	if code, out, _ := w.starter("status", string(key)); code != 0 || !strings.Contains(out, "syndicated, passed") {
		t.Errorf("status of a forgotten run: %d %s", code, out)
	}
	w.oneOfEverything(rec)
}

// forget deletes the run, as retention does in the end.
func forget(t *testing.T, ctx context.Context, w *world) {
	t.Helper()
	if _, err := w.Client.WorkflowService().DeleteWorkflowExecution(ctx, &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace: w.Client.Namespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: string(key)},
	}); err != nil {
		t.Fatal(err)
	}
	for {
		_, err := w.Client.DescribeWorkflow(ctx, string(key), "")
		if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
			return
		}
		if ctx.Err() != nil {
			t.Fatal("the run was not deleted")
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// TestARunThatWasForgottenMidwayGoesOn deletes the history of a run that has merged; the next run finds
// everything in the ledger and at the remote, and ends with one of everything.
func TestARunThatWasForgottenMidwayGoesOn(t *testing.T) {
	w := start(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	w.beginAndStayMerged(ctx)
	if err := w.Client.TerminateWorkflow(ctx, string(key), "", "test"); err != nil {
		t.Fatal(err)
	}
	forget(t, ctx, w)
	w.World.SiteFaults.Clear()
	w.begin()
	w.oneOfEverything(w.finish())
}

// TestARunUnderAnotherIDRefuses starts the workflow by hand under an ID that is not the intent's.
func TestARunUnderAnotherIDRefuses(t *testing.T) {
	w := start(t)
	req, err := w.Request(key)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, err := w.Client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: "something-else", TaskQueue: w.Config.TaskQueue}, "Publish", req)
	if err != nil {
		t.Fatal(err)
	}
	err = r.Get(ctx, nil)
	if err == nil || !strings.Contains(err.Error(), "something-else") || !strings.Contains(err.Error(), string(key)) {
		t.Errorf("%v", err)
	}
	if a := w.World.Audit(); a.Mutations != 0 {
		t.Errorf("it changed something: %+v", a)
	}
}
