package workflows

import (
	"os"
	"path/filepath"
	"testing"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// TestCommittedHistoriesReplay runs today's workflow code over what earlier code did: a change that a
// running workflow would not survive fails here.
func TestCommittedHistoriesReplay(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.json") // a folder a generation of the workflows
	if err != nil || len(files) < 24 {
		t.Fatalf("%d histories, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.ToSlash(file), func(t *testing.T) {
			r := worker.NewWorkflowReplayer()
			r.RegisterWorkflowWithOptions(Publish, workflow.RegisterOptions{Name: PublishName})
			r.RegisterWorkflowWithOptions(Deliver, workflow.RegisterOptions{Name: DeliverName})
			f, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			h, err := client.HistoryFromJSON(f, client.HistoryJSONOptions{})
			if err != nil {
				t.Fatal(err)
			}
			begun := h.Events[0].GetWorkflowExecutionStartedEventAttributes()
			err = r.ReplayWorkflowHistoryWithOptions(nil, h, worker.ReplayWorkflowHistoryOptions{
				OriginalExecution: workflow.Execution{ID: begun.GetWorkflowId(), RunID: begun.GetOriginalExecutionRunId()}, // the workflows check their ID
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}
