// Package intake starts runs: the one function through which every intent enters, whoever asks for it.
//
// Starting a workflow ID that exists looks like success to Temporal's clients, even when the inputs have
// changed. So the inputs are compared here, with the ledger, which never forgets, and with the run that
// is there.
package intake

import (
	"context"
	"errors"
	"fmt"

	"colophon/publish"
	"colophon/workflows"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

// Kind says what came of asking for an intent.
type Kind string

// The answers. A conflict is an error: *publish.ConflictError.
const (
	Started   Kind = "started"   // a run has begun
	Joined    Kind = "joined"    // the same intent is running: this is that run
	Published Kind = "published" // it reached its terminal record before
)

// Answer is what came of asking for an intent.
type Answer struct {
	Kind   Kind            `json:"answer"`
	Key    publish.Key     `json:"key"`
	RunID  string          `json:"run_id,omitempty"`
	Record *publish.Record `json:"record,omitempty"` // when published before
}

// Ledger is what intake reads.
type Ledger interface {
	Publication(ctx context.Context, key publish.Key, revision int) (publish.Publication, bool, error)
}

// Start begins the intent's run, or joins it, or answers that it is published. The same key with other
// inputs is refused, whether its run is running, closed or forgotten by Temporal, and so is a revision while another is
// under way; nothing is changed then.
func Start(ctx context.Context, c client.Client, l Ledger, queue string, req publish.Request) (Answer, error) {
	in := req.Intent
	if err := in.Check(); err != nil {
		return Answer{}, err
	}
	known, ok, err := l.Publication(ctx, in.Key, in.Revision)
	if err != nil {
		return Answer{}, fmt.Errorf("read the ledger: %w", err)
	}
	if ok {
		if err := compare(known.Intent, in); err != nil {
			return Answer{}, err
		}
		if known.Record != nil {
			return Answer{Kind: Published, Key: in.Key, Record: known.Record}, nil
		}
	}
	run, err := c.ExecuteWorkflow(ctx, options(queue, in), workflows.PublishName, req)
	if started, ok := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); ok {
		return join(ctx, c, in, started.RunId)
	}
	if err != nil {
		return Answer{}, fmt.Errorf("start %s: %w", in.Key, err)
	}
	return Answer{Kind: Started, Key: in.Key, RunID: run.GetRunID()}, nil
}

func options(queue string, in publish.Intent) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID: string(in.Key), TaskQueue: queue,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		WorkflowIDConflictPolicy:                 enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		WorkflowIDReusePolicy:                    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary:                            in.Topic,
		TypedSearchAttributes: temporal.NewSearchAttributes(
			workflows.Campaign.ValueSet(in.Key.Campaign()), workflows.Date.ValueSet(string(in.Date))),
	}
}

// join compares with the inputs of the run that has the ID.
func join(ctx context.Context, c client.Client, in publish.Intent, runID string) (Answer, error) {
	events := c.GetWorkflowHistory(ctx, string(in.Key), runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	first, err := events.Next()
	if err != nil {
		return Answer{}, fmt.Errorf("read the inputs of %s, which is running: %w", in.Key, err)
	}
	var req publish.Request
	input := first.GetWorkflowExecutionStartedEventAttributes().GetInput()
	if err := converter.GetDefaultDataConverter().FromPayloads(input, &req); err != nil {
		return Answer{}, fmt.Errorf("read the inputs of %s, which is running: %w", in.Key, err)
	}
	if err := compare(req.Intent, in); err != nil {
		return Answer{}, err
	}
	if running := req.Intent.Revision; running != in.Revision {
		return Answer{}, &publish.CorrectionError{Key: in.Key, Revision: in.Revision, Why: fmt.Sprintf("revision %d is under way; ask again when its run has ended", running)}
	}
	return Answer{Kind: Joined, Key: in.Key, RunID: runID}, nil
}

func compare(bound, asked publish.Intent) error {
	if d := publish.Differences(bound, asked); len(d) > 0 {
		return &publish.ConflictError{Key: asked.Key, Differences: d}
	}
	return nil
}
