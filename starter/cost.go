package main

import (
	"context"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
)

// cost is what one run used at Temporal.
type cost struct {
	Events  int // history events, deliveries included
	Actions int // as Temporal Cloud counts them, without queries
}

// add counts one workflow's history. Actions as Temporal Cloud bills them: a workflow's start, an
// activity's start or retry, a timer, a signal, an update and a search attribute change are one each, a
// child workflow two. A child's own start is in its parent's two.
// https://docs.temporal.io/cloud/actions
func (c *cost) add(ctx context.Context, tc client.Client, id string, child bool) error {
	if !child {
		c.Actions++
	}
	events := tc.GetWorkflowHistory(ctx, id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		if err != nil {
			return err
		}
		c.Events++
		switch e.EventType {
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED:
			c.Actions += int(e.GetActivityTaskStartedEventAttributes().GetAttempt())
		case enumspb.EVENT_TYPE_TIMER_STARTED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED,
			enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED, enumspb.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES:
			c.Actions++
		case enumspb.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED:
			c.Actions += 2
			if err := c.add(ctx, tc, e.GetStartChildWorkflowExecutionInitiatedEventAttributes().GetWorkflowId(), true); err != nil {
				return err
			}
		}
	}
	return nil
}
