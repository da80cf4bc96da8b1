package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"colophon/publish"

	"go.temporal.io/api/serviceerror"
)

type statusCmd struct {
	Key   string `arg:"" optional:"" help:"One intent's key; all that the ledger knows, if left out."`
	Watch bool   `short:"w" help:"Show the steps as they happen, until the run has ended or waits for a person."`
}

// Help is shown by status --help.
func (statusCmd) Help() string {
	return `A run that Temporal has forgotten is answered from the ledger.

  starter status
  starter status media-001:2026-10-04:idempotency --watch

Exit code 4 says that the run waits for a person; the text says for what, and what to send.`
}

func (s statusCmd) Run(ctx context.Context, g *globals) error {
	d, err := open(ctx, g)
	if err != nil {
		return err
	}
	var key publish.Key
	if s.Key != "" {
		if key, err = publish.ParseKey(s.Key); err != nil {
			return wrong(err)
		}
	}
	defer d.close()
	if err := d.connect(ctx); err != nil {
		return err
	}
	if key == "" {
		return s.all(ctx, g, d)
	}
	if s.Watch {
		if _, err := follow(ctx, d.temporal, key, g.progress()); err != nil {
			return err
		}
	}
	rec, err := d.record(ctx, key)
	if err != nil {
		return err
	}
	if err := g.answer(rec, rec.Markdown()); err != nil {
		return err
	}
	return ended(rec)
}

// record asks the ledger for a terminal record first, then the run.
func (d *desk) record(ctx context.Context, key publish.Key) (publish.Record, error) {
	p, known, err := d.ledger.Publication(ctx, key, 0)
	if err != nil {
		return publish.Record{}, err
	}
	if p.Record != nil {
		return *p.Record, nil
	}
	rec, err := ask(ctx, d.temporal, key)
	if _, missing := errors.AsType[*serviceerror.NotFound](err); missing && known {
		return publish.Record{Intent: p.Intent, Fingerprint: p.Fingerprint}, fmt.Errorf("%s was begun on %s, and Temporal has no run of it; start it again: starter publish %s", key, p.FirstSeen.Format("2006-01-02"), key)
	} else if missing {
		return publish.Record{}, wrong(fmt.Errorf("%s has never been started: starter publish %s", key, key))
	}
	return rec, err
}

// all lists every intent that the ledger knows.
func (s statusCmd) all(ctx context.Context, g *globals, d *desk) error {
	publications, err := d.ledger.Publications(ctx)
	if err != nil {
		return err
	}
	records := []publish.Record{}
	var b strings.Builder
	for _, p := range publications {
		rec, err := d.record(ctx, p.Intent.Key)
		if err != nil {
			rec = publish.Record{Intent: p.Intent, Waiting: &publish.Waiting{For: err.Error(), Owner: publish.Person}}
		}
		records = append(records, rec)
		fmt.Fprintf(&b, "%-42s %s\n", p.Intent.Key, line(rec))
	}
	if len(publications) == 0 {
		b.WriteString("Nothing has been started yet.")
	}
	return g.answer(records, strings.TrimRight(b.String(), "\n"))
}

// line is how an intent stands, in a few words.
func line(r publish.Record) string {
	switch {
	case r.Outcome != "":
		return fmt.Sprintf("%s, %s", r.State, r.Outcome)
	case r.Waiting != nil:
		return fmt.Sprintf("%s, %s's move: %s", r.State, r.Waiting.Owner, r.Waiting.For)
	default:
		return string(r.State)
	}
}
