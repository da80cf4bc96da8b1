package service

import (
	"context"
	"io"
	"log/slog"
	"os"
	"testing"
	"time"

	"colophon/internal/devenv/temporal"
	"colophon/workflows"

	sdk "go.temporal.io/sdk/temporal"

	"go.temporal.io/sdk/client"
)

// TestAPlainServerBecomesFitForRuns registers the search attributes on a server that has never heard of them,
// and starts a workflow that carries them, as the first command of a new user does.
func TestAPlainServerBecomesFitForRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a Temporal server; left out with -short")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	binary, err := temporal.Find(ctx, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	s, err := temporal.Start(ctx, temporal.Options{Binary: binary, Headless: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop() })
	c, err := Dial(ctx, client.Options{HostPort: s.Address()}, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 2 {
		if err := RegisterSearchAttributes(ctx, c); err != nil {
			t.Fatal(err)
		}
	}
	_, err = c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: "x", TaskQueue: "none", TypedSearchAttributes: sdk.NewSearchAttributes(workflows.Campaign.ValueSet("media-001"), workflows.Date.ValueSet("2026-10-04")),
	}, workflows.PublishName)
	if err != nil {
		t.Errorf("a run with search attributes, right after: %v", err)
	}
}
