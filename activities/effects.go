package activities

import (
	"context"
	"fmt"

	"colophon/internal/article"
	"colophon/publish"
)

// effects are what a step changes, in order. It is the one table from steps to effects: ensure and
// Reconcile both work from it.
func (s *Steps) effects(ctx context.Context, task publish.Task) ([]publish.Effect, error) {
	draft, err := s.Ledger.Artifact(ctx, task.Plan.Draft)
	if err != nil {
		return nil, err
	}
	if task.Step != publish.Syndicate {
		return s.Repository.Effects(task.Step, task.Intent, task.Plan, draft), nil
	}
	channel, ok := s.Channels[task.Channel]
	if !ok {
		return nil, &publish.Trouble{
			Kind: publish.Halted, Condition: "unknown_channel", Detail: fmt.Sprintf("channel %q is not configured", task.Channel),
			Next: "add it to the configuration and restart the worker, or decide skip",
		}
	}
	a, err := article.Parse(task.Intent.Path, draft)
	if err != nil {
		return nil, err
	}
	effect, err := channel.Prepare(ctx, publish.Announcement{
		Intent: task.Intent, Title: a.Title, Description: a.Description, URL: string(task.Intent.URL), Language: a.Language, Tags: a.Tags,
	})
	if err != nil {
		return nil, err
	}
	return []publish.Effect{effect}, nil
}
