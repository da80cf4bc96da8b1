// Package service wires a configuration's parts together and runs a worker on them. Secrets are read here
// and go nowhere but into the clients that send them.
package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"colophon/activities"
	"colophon/internal/article"
	"colophon/internal/config"
	"colophon/internal/corpus"
	"colophon/internal/github"
	"colophon/internal/ledger"
	"colophon/internal/qa"
	"colophon/internal/site"
	"colophon/internal/wire"
	"colophon/publish"
	"colophon/workflows"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// Parts are what a worker works with.
type Parts struct {
	Ledger *ledger.Ledger
	Steps  *activities.Steps
}

// Assemble reads the secrets, opens the ledger and connects everything. Nothing is sent.
func Assemble(ctx context.Context, c *config.Config, o ...ledger.Option) (*Parts, error) {
	token, tokenErr := c.Repository.Token.Read("repository.token")
	channels, channelsErr := connect(c)
	if err := errors.Join(tokenErr, channelsErr); err != nil {
		return nil, err
	}
	repository, err := github.New(adding("Authorization", "Bearer "+token.Reveal()), github.Options{
		API: c.Repository.API, Repository: c.Repository.Name, MergeMethod: c.Repository.MergeMethod, Gap: c.Repository.WriteGap,
	})
	if err != nil {
		return nil, err
	}
	l, err := ledger.Open(ctx, c.Ledger, o...)
	if err != nil {
		return nil, err
	}
	return &Parts{Ledger: l, Steps: &activities.Steps{
		Ledger: l, Repository: repository, Corpus: corpus.New(repository, c.Cache), Channels: channels, Drafts: article.Files{}, QA: qa.Rules(c.QA),
		Site:     site.New(wire.New(wire.Options{MaxBody: 64 << 20}), site.Options{Index: c.Site.Index, Sitemap: c.Site.Sitemap, Feed: c.Site.Feed}),
		Author:   publish.Author{Name: c.Repository.Author.Name, Email: c.Repository.Author.Email},
		LaneWait: laneWait,
	}}, nil
}

// laneWait covers a second's gap between changes, and keeps history free of timers for it.
const laneWait = 5 * time.Second

// Close closes the ledger.
func (p *Parts) Close() error { return p.Ledger.Close() }

// stopTimeout is longer than any step may take, so that a worker that is asked to stop finishes the request
// it is making, and writes down how it ended.
const stopTimeout = 9 * time.Minute

// NewWorker makes a worker for a task queue.
func NewWorker(c Connection, queue string, s *activities.Steps) worker.Worker {
	w := worker.New(c.Client, queue, worker.Options{DisableRegistrationAliasing: true, WorkerStopTimeout: stopTimeout})
	Register(w, s)
	return w
}

// Registry is what workflows and steps are made known to: a worker, or a test's environment.
type Registry interface {
	RegisterWorkflowWithOptions(w any, o workflow.RegisterOptions)
	RegisterActivityWithOptions(a any, o activity.RegisterOptions)
}

// Register makes every workflow and step known under its own name.
func Register(w Registry, s *activities.Steps) {
	w.RegisterWorkflowWithOptions(workflows.Publish, workflow.RegisterOptions{Name: workflows.PublishName})
	w.RegisterWorkflowWithOptions(workflows.Deliver, workflow.RegisterOptions{Name: workflows.DeliverName})
	w.RegisterWorkflowWithOptions(workflows.Line, workflow.RegisterOptions{Name: workflows.LineName})
	for step, f := range map[publish.Step]any{
		publish.Admit: s.Admit, publish.Draft: s.Draft, publish.Validate: s.Validate, publish.Branch: s.Branch, publish.PullRequest: s.PullRequest,
		publish.Merge: s.Merge, publish.VerifyLive: s.VerifyLive, publish.Prepare: s.Prepare, publish.Syndicate: s.Syndicate, publish.Sweep: s.Sweep, publish.Reconcile: s.Reconcile, publish.Close: s.Close,
	} {
		w.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: string(step)})
	}
}

// Run works until the context ends, then finishes what it has begun.
func Run(ctx context.Context, c Connection, cfg *config.Config, log *slog.Logger) error {
	if err := RegisterSearchAttributes(ctx, c); err != nil {
		return err
	}
	parts, err := Assemble(ctx, cfg)
	if err != nil {
		return err
	}
	defer parts.Close()
	unasked, err := CheckAccounts(ctx, parts.Steps.Channels)
	if err != nil {
		return err
	}
	for name, err := range unasked {
		log.Warn("a channel's account could not be asked for; it is asked again before anything is sent", "channel", name, "error", err)
	}
	w := NewWorker(c, cfg.TaskQueue, parts.Steps)
	if err := w.Start(); err != nil {
		return fmt.Errorf("start the worker: %w", err)
	}
	log.Info("worker ready", "task_queue", cfg.TaskQueue, "repository", cfg.Repository.Name, "channels", cfg.ChannelNames())
	<-ctx.Done()
	log.Info("worker stopping: it finishes the requests that are under way")
	w.Stop()
	return nil
}
