package e2e

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"colophon/internal/sandbox/fault"
	"colophon/publish"

	"go.temporal.io/api/workflowservice/v1"

	activitypb "go.temporal.io/api/activity/v1"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

// TestTemporalThatIsKilledAndComesBackLeavesOneOfEverything kills Temporal with SIGKILL while a request is under
// way whose effect has landed, and starts it again on its file. The answer is lost while Temporal is away, so
// that nobody can be told, or when it is back.
func TestTemporalThatIsKilledAndComesBackLeavesOneOfEverything(t *testing.T) {
	const away, back = 200 * time.Millisecond, 6 * time.Second
	for name, c := range map[string]struct {
		rule   fault.Rule
		post   bool
		worker bool // is killed too
	}{
		"the branch is there":            {fault.Rule{Method: "POST", Path: "/git/refs$", Delay: away}, false, false},
		"the pull request is open":       {fault.Rule{Method: "POST", Path: "/pulls$", Delay: back}, false, false},
		"the merge has landed":           {fault.Rule{Method: "PUT", Path: "/merge$", Delay: away}, false, false},
		"the post is out":                {fault.Rule{Method: "POST", Delay: back}, true, false},
		"the merge has landed, both die": {fault.Rule{Method: "PUT", Path: "/merge$"}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			layer := w.World.GitHubFaults
			if c.post {
				layer = w.World.MastodonFaults
			}
			c.rule.Kind = fault.HangAfter
			layer.Add(c.rule)
			w.begin()
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if err := layer.Wait(ctx, 1); err != nil {
				t.Fatalf("the request was never made: %v", err)
			}
			w.killTemporal()
			if c.worker {
				w.kill()
			}
			w.restartTemporal()
			if c.worker {
				w.work()
			}
			w.oneOfEverything(w.finish())
		})
	}
}

// TestADurableTimerOutlivesTemporal kills Temporal while a delivery waits for Mastodon to show a post whose
// answer was lost.
func TestADurableTimerOutlivesTemporal(t *testing.T) {
	w := start(t)
	w.World.MastodonFaults.Add(fault.Rule{Method: "POST", Kind: fault.ResetAfter})
	w.begin()
	id := publish.DeliveryID(key, "mastodon")
	w.await(id, "the remote to show what happened", publish.Colophon)
	w.killTemporal()
	killed := time.Now()
	w.restartTemporal()
	w.oneOfEverything(w.finish())
	over := false
	for _, e := range w.history(id, "") {
		over = over || e.GetEventType() == enumspb.EVENT_TYPE_TIMER_FIRED && e.GetEventTime().AsTime().After(killed)
	}
	if !over {
		t.Error("no timer was under way when Temporal was killed")
	}
}

// TestABlockedRunOutlivesTemporal kills Temporal while a delivery waits for a person, who decides when it is back.
func TestABlockedRunOutlivesTemporal(t *testing.T) {
	w := start(t)
	id := blockDelivery(t, w)
	w.killTemporal()
	w.restartTemporal()
	if rec := w.await(id, "a decision about Syndicate", publish.Person); rec.Waiting.Condition != "bad_credentials" {
		t.Errorf("it waits for something else:\n%s", rec.Markdown())
	}
	w.retry(id)
	w.oneOfEverything(w.finish())
}

// TestARunThatIsResetMakesNothingTwice resets a run that has merged to its first workflow task, so that every
// step is executed again; and the run that ended then, to each of its workflow tasks, so that it ends again from
// wherever it is taken up.
func TestARunThatIsResetMakesNothingTwice(t *testing.T) {
	w := start(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	w.beginAndStayMerged(ctx)
	changes := w.changes()
	run := w.reset(string(key), "", w.tasks(string(key), "")[0])
	w.World.SiteFaults.Clear()
	rec := w.finish()
	var steps []publish.Step
	for _, e := range w.history(string(key), run) {
		if a := e.GetActivityTaskScheduledEventAttributes(); a != nil {
			steps = append(steps, publish.Step(a.GetActivityType().GetName()))
		}
	}
	want := []publish.Step{publish.Admit, publish.Draft, publish.Validate, publish.Branch, publish.PullRequest, publish.Merge, publish.VerifyLive, publish.Sweep, publish.Close}
	if !slices.Equal(steps, want) {
		t.Errorf("the run that was reset executed %v", steps)
	}
	// A post and a ping have followed; of what was there before, nothing.
	if got := w.changes(); got != changes+2 {
		t.Errorf("%d requests to change something before the reset, %d after it", changes, got)
	}
	w.oneOfEverything(rec)

	changes = w.changes()
	for _, task := range w.tasks(string(key), run) {
		w.reset(string(key), run, task)
		if again := w.finish(); text(t, again) != text(t, rec) {
			t.Errorf("reset to %d, it ended with another record:\n%s", task, again.Markdown())
		}
		if got := w.changes(); got != changes {
			t.Errorf("reset to %d, it made %d requests to change something", task, got-changes)
		}
	}
	w.oneOfEverything(rec)
}

// TestAResetAmidADeliveryMakesNothingTwice resets a run one of whose deliveries waits for a person, and joins that
// delivery; and it resets a run, or the delivery itself, while the worker waits for the answer to a post that is out.
func TestAResetAmidADeliveryMakesNothingTwice(t *testing.T) {
	id := publish.DeliveryID(key, "mastodon")
	block := func(w *world) { blockDelivery(w.t, w) }
	hang := func(w *world) {
		w.World.MastodonFaults.Add(fault.Rule{Method: "POST", Kind: fault.HangAfter, Delay: 6 * time.Second})
		w.begin()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := w.World.MastodonFaults.Wait(ctx, 1); err != nil {
			w.t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		reset   string
		begin   func(*world)
		blocked bool
	}{
		"the run, whose delivery waits for a person": {string(key), block, true},
		"the run, whose post is out":                 {string(key), hang, false},
		"the delivery, whose post is out":            {id, hang, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			c.begin(w)
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			// A ping that is cut off is sent again, which is not what this is about.
			if err := w.Client.GetWorkflow(ctx, publish.DeliveryID(key, "indexnow"), "").Get(ctx, nil); err != nil {
				t.Fatal(err)
			}
			changes := w.changes()
			w.reset(c.reset, "", w.tasks(c.reset, "")[0])
			if c.blocked {
				w.await(string(key), "Syndicate", publish.Colophon)
				w.await(id, "a decision about Syndicate", publish.Person)
				w.retry(id)
				changes++
			}
			rec := w.finish()
			if got := w.changes(); got != changes {
				t.Errorf("%d requests to change something, want %d", got, changes)
			}
			w.oneOfEverything(rec)
		})
	}
}

// TestAnOperatorCannotHaveAChangeMadeTwice takes the merge's activity out of the workflow's hands, as anybody may
// who can reach Temporal, when the merge has landed and its answer is withheld.
func TestAnOperatorCannotHaveAChangeMadeTwice(t *testing.T) {
	for name, c := range map[string]struct {
		operate  func(*testing.T, context.Context, *world)
		attempts int32 // by Temporal
	}{
		"by a pause that the worker hears of": {func(t *testing.T, ctx context.Context, w *world) {
			w.pause(ctx)
			// The heartbeat ends the request. The step says that its end is unclear, and it is looked into at once:
			// nothing is left to be unpaused.
			for w.merging(ctx) != nil {
				time.Sleep(50 * time.Millisecond)
			}
			if err := w.unpause(ctx); err == nil {
				t.Error("it was unpaused, and had ended")
			}
		}, 1},
		"by a pause that ends at once": {func(t *testing.T, ctx context.Context, w *world) {
			w.pause(ctx)
			if err := w.unpause(ctx); err != nil {
				t.Error(err)
			}
		}, 1},
		"by a pause that the worker dies in": {func(t *testing.T, ctx context.Context, w *world) {
			w.pause(ctx)
			w.kill()
			w.work()
			// No time-out ends what is paused.
			time.Sleep(heartbeats + 3*time.Second)
			if p := w.merging(ctx); !p.GetPaused() {
				t.Errorf("it did not stay paused: %s", p)
			}
			if err := w.unpause(ctx); err != nil {
				t.Error(err)
			}
		}, 1},
		"by more attempts": {func(t *testing.T, ctx context.Context, w *world) {
			if _, err := w.Client.WorkflowService().UpdateActivityOptions(ctx, &workflowservice.UpdateActivityOptionsRequest{
				Namespace: w.Client.Namespace, Execution: &commonpb.WorkflowExecution{WorkflowId: string(key)},
				Activity:        &workflowservice.UpdateActivityOptionsRequest_Type{Type: string(publish.Merge)},
				ActivityOptions: &activitypb.ActivityOptions{RetryPolicy: &commonpb.RetryPolicy{MaximumAttempts: 3}},
				UpdateMask:      &fieldmaskpb.FieldMask{Paths: []string{"retry_policy.maximum_attempts"}},
			}); err != nil {
				t.Fatal(err)
			}
			w.kill()
			w.work()
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			w.World.GitHubFaults.Add(fault.Rule{Method: "PUT", Path: "/merge$", Kind: fault.HangAfter, Delay: 6 * time.Second})
			w.begin()
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if err := w.World.GitHubFaults.Wait(ctx, 1); err != nil {
				t.Fatal(err)
			}
			c.operate(t, ctx, w)
			rec := w.finish()
			if n := w.attempts(publish.Merge); n != c.attempts {
				t.Errorf("Temporal made %d attempts, want %d", n, c.attempts)
			}
			puts := 0
			for _, change := range w.World.GitHubFaults.Changes() {
				if change.Method == "PUT" {
					puts++
				}
			}
			if puts != 1 {
				t.Errorf("the merge was asked for %d times", puts)
			}
			w.oneOfEverything(rec)
		})
	}
}

// attempts is how often Temporal attempted a step's activity.
func (w *world) attempts(step publish.Step) (n int32) {
	w.t.Helper()
	scheduled := int64(0)
	for _, e := range w.history(string(key), "") {
		if e.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() == string(step) {
			scheduled = e.GetEventId()
		}
		if a := e.GetActivityTaskStartedEventAttributes(); a != nil && a.GetScheduledEventId() == scheduled {
			n = a.GetAttempt()
		}
	}
	return n
}

// pause pauses the merge's activity.
func (w *world) pause(ctx context.Context) {
	w.t.Helper()
	if _, err := w.Client.WorkflowService().PauseActivity(ctx, &workflowservice.PauseActivityRequest{
		Namespace: w.Client.Namespace, Execution: &commonpb.WorkflowExecution{WorkflowId: string(key)},
		Activity: &workflowservice.PauseActivityRequest_Type{Type: string(publish.Merge)}, Reason: "test",
	}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) unpause(ctx context.Context) error {
	_, err := w.Client.WorkflowService().UnpauseActivity(ctx, &workflowservice.UnpauseActivityRequest{
		Namespace: w.Client.Namespace, Execution: &commonpb.WorkflowExecution{WorkflowId: string(key)},
		Activity: &workflowservice.UnpauseActivityRequest_Type{Type: string(publish.Merge)},
	})
	return err
}

// merging answers the merge's activity, if it has not ended.
func (w *world) merging(ctx context.Context) *workflowpb.PendingActivityInfo {
	w.t.Helper()
	run, err := w.Client.DescribeWorkflow(ctx, string(key), "")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, p := range run.RawResponse.GetPendingActivities() {
		if p.GetActivityType().GetName() == string(publish.Merge) {
			return p
		}
	}
	return nil
}

// reset takes a run up again after the workflow task that completed with an event, and answers the new run.
func (w *world) reset(id, run string, task int64) string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	resp, err := w.Client.ResetWorkflowExecution(ctx, &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: w.Client.Namespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: run},
		Reason: "test", RequestId: time.Now().String(), WorkflowTaskFinishEventId: task,
	})
	if err != nil {
		w.t.Fatalf("reset to %d: %v", task, err)
	}
	return resp.GetRunId()
}

// tasks lists the events with which a run's workflow tasks completed.
func (w *world) tasks(id, run string) []int64 {
	w.t.Helper()
	var out []int64
	for _, e := range w.history(id, run) {
		if e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			out = append(out, e.GetEventId())
		}
	}
	return out
}

// changes counts the requests, to whatever remote, that were to change something.
func (w *world) changes() int {
	return len(w.World.GitHubFaults.Changes()) + len(w.World.MastodonFaults.Changes()) + len(w.World.IndexNowFaults.Changes())
}

func text(t *testing.T, rec publish.Record) string {
	t.Helper()
	raw, err := json.Marshal(rec)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func (w *world) history(id, run string) (all []*historypb.HistoryEvent) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for events := w.Client.GetWorkflowHistory(ctx, id, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		e, err := events.Next()
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}
