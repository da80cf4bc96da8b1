package activities

import (
	"context"

	"colophon/publish"
)

// Branch stores the article's objects and creates the intent's branch at its commit.
func (s *Steps) Branch(ctx context.Context, task publish.Task) (publish.Result, error) {
	return s.ensure(ctx, task), nil
}

// PullRequest opens the intent's pull request, or finds it.
func (s *Steps) PullRequest(ctx context.Context, task publish.Task) (publish.Result, error) {
	return s.ensure(ctx, task), nil
}

// Merge merges the pull request at the planned commit and removes the branch.
func (s *Steps) Merge(ctx context.Context, task publish.Task) (publish.Result, error) {
	return s.ensure(ctx, task), nil
}

// Sweep removes a branch that came back after the merge, and with it its pull request.
func (s *Steps) Sweep(ctx context.Context, task publish.Task) (publish.Result, error) {
	return s.ensure(ctx, task), nil
}

// Syndicate announces the article on one channel.
func (s *Steps) Syndicate(ctx context.Context, task publish.Task) (publish.Result, error) {
	return s.ensure(ctx, task), nil
}
