package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"colophon/internal/calendar"
	"colophon/internal/config"
	"colophon/internal/intake"
	"colophon/internal/ledger"
	"colophon/internal/service"
	"colophon/publish"
)

type publishCmd struct {
	Key  string `arg:"" help:"The intent's key, campaign:date:entry, as it stands in the calendar."`
	Wait bool   `help:"Show the steps as they happen, until the run has ended or waits for a person."`
}

// Help is shown by publish --help.
func (publishCmd) Help() string {
	return `Answers started, joined (the same intent is running), or published (it is done: here is its record).
A key that is bound to another topic, slug, date, repository or base branch is refused, exit code 3, naming
each input with both values; also after Temporal has forgotten the run.

  starter publish media-001:2026-10-04:idempotency --wait
  starter publish media-001:2026-10-04:idempotency --json

The same with Temporal's own tools, without the comparison of inputs beforehand (the run makes it):

  temporal workflow start --type Publish --task-queue colophon \
    --workflow-id media-001:2026-10-04:idempotency --input-file request.json --fail-existing`
}

// desk is what commands work at: configuration, ledger and Temporal.
type desk struct {
	cfg      *config.Config
	ledger   *ledger.Ledger
	temporal service.Connection
}

// open reads the configuration first, so that wrong input is told before anything is touched.
func open(ctx context.Context, g *globals) (*desk, error) {
	cfg, err := config.Load(g.Config)
	if err != nil {
		return nil, wrong(err)
	}
	return &desk{cfg: cfg}, nil
}

// connect reaches Temporal, and then opens the ledger.
func (d *desk) connect(ctx context.Context) (err error) {
	d.temporal, err = service.Connect(ctx, slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})))
	if err != nil {
		return err
	}
	d.ledger, err = ledger.Open(ctx, d.cfg.Ledger)
	return err
}

func (d *desk) close() {
	if d.temporal.Client != nil {
		d.temporal.Close()
	}
	if d.ledger != nil {
		_ = d.ledger.Close()
	}
}

// request finds the key's entry in the calendar.
func (d *desk) request(key string) (publish.Request, error) {
	k, err := publish.ParseKey(key)
	if err != nil {
		return publish.Request{}, err
	}
	cal, err := calendar.Read(d.cfg.Calendar)
	if err != nil {
		return publish.Request{}, err
	}
	entry, err := cal.Find(k)
	if err != nil {
		return publish.Request{}, err
	}
	if entry.Approved == nil {
		return publish.Request{}, fmt.Errorf("%s is not approved; add approved: {by: NAME, at: TIME} on line %d of %s", k, entry.Line, d.cfg.Calendar)
	}
	if _, err := os.Stat(entry.Draft); err != nil {
		return publish.Request{}, fmt.Errorf("%s: the draft cannot be read: %w", k, err)
	}
	in, err := d.cfg.Intent(entry)
	return publish.Request{Intent: in, Policy: d.cfg.RunPolicy()}, err
}

func (p publishCmd) Run(ctx context.Context, g *globals) error {
	d, err := open(ctx, g)
	if err != nil {
		return err
	}
	req, err := d.request(p.Key)
	if err != nil {
		return wrong(err)
	}
	defer d.close()
	if err := d.connect(ctx); err != nil {
		return err
	}
	if err := service.RegisterSearchAttributes(ctx, d.temporal); err != nil {
		return err
	}
	a, err := intake.Start(ctx, d.temporal, d.ledger, d.cfg.TaskQueue, req)
	if err != nil {
		return err
	}
	if !p.Wait || a.Kind == intake.Published {
		return g.answer(a, text(a))
	}
	fmt.Fprintln(g.progress(), text(a))
	rec, err := follow(ctx, d.temporal, a.Key, g.progress())
	if err != nil {
		return err
	}
	a.Record = &rec
	if err := g.answer(a, rec.Markdown()); err != nil {
		return err
	}
	return ended(rec)
}

func text(a intake.Answer) string {
	switch a.Kind {
	case intake.Started:
		return fmt.Sprintf("%s: started, run %s", a.Key, a.RunID)
	case intake.Joined:
		return fmt.Sprintf("%s: is running already with the same inputs, run %s", a.Key, a.RunID)
	default:
		return fmt.Sprintf("%s: was published before\n\n%s", a.Key, a.Record.Markdown())
	}
}

// ended turns how a run stands into an exit code.
func ended(r publish.Record) error {
	switch {
	case r.Outcome == publish.Passed:
		return nil
	case r.Outcome != "":
		return fmt.Errorf("%s ended: %s", r.Intent.Key, r.Outcome)
	case r.Waiting != nil && r.Waiting.Owner == publish.Person:
		return coded{fmt.Errorf("%s waits for a person: %s", r.Intent.Key, r.Waiting.For), exitBlocked}
	default:
		return nil
	}
}
