package activities

import (
	"context"

	"colophon/publish"
)

// effects are what a step changes, in order. It is the one table from steps to effects: ensure and
// Reconcile both work from it.
func (s *Steps) effects(ctx context.Context, task publish.Task) ([]publish.Effect, error) {
	if task.Step == publish.Prepare || task.Step == publish.Syndicate {
		e, err := s.announcement(ctx, task)
		return []publish.Effect{e}, err
	}
	draft, err := s.Ledger.Artifact(ctx, task.Plan.Draft)
	if err != nil {
		return nil, err
	}
	return s.Repository.Effects(task.Step, task.Intent, task.Plan, draft), nil
}
