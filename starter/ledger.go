package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"colophon/internal/ledger"
)

type ledgerCmd struct {
	Export exportCmd `cmd:"" help:"Write every event of the ledger as JSON Lines."`
	Import importCmd `cmd:"" help:"Rebuild a ledger from what was exported."`
}

type exportCmd struct {
	File string `arg:"" optional:"" help:"File to write; standard output, if left out."`
}

// Help is shown by ledger export --help.
func (exportCmd) Help() string {
	return `One event a line, oldest first: what was admitted, attempted, sent, refused, looked for, found, closed. The file
only grows, and diffs well in Git. It holds no credentials. An export may be taken while workers are at work.

  starter ledger export ledger.jsonl
  starter ledger export | grep '"kind":"unknown"'`
}

func (c exportCmd) Run(ctx context.Context, g *globals) error {
	return g.withLedger(ctx, func(l *ledger.Ledger, where string) error {
		if c.File == "" {
			_, err := l.Export(ctx, g.Out)
			return err
		}
		events, err := exportFile(ctx, l, c.File)
		if err != nil {
			return err
		}
		return g.answer(map[string]any{"events": events, "file": c.File}, fmt.Sprintf("%d events of %s written to %s", events, where, c.File))
	})
}

// exportFile writes beside the file first, so that an earlier export is replaced by a whole one only.
func exportFile(ctx context.Context, l *ledger.Ledger, path string) (events int, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name())
	events, err = l.Export(ctx, f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return 0, err
	}
	return events, os.Rename(f.Name(), path)
}

type importCmd struct {
	File string `arg:"" help:"File to read; - is standard input."`
}

// Help is shown by ledger import --help.
func (importCmd) Help() string {
	return `Into an empty ledger only: all of it, or nothing. What has been imported is equal to what was exported. So a ledger
is brought back, or moved from a SQLite file to PostgreSQL:

  starter ledger export ledger.jsonl
  (in colophon.yaml)  ledger: postgres://colophon@db.example.org/colophon
  starter ledger import ledger.jsonl

No worker may be at work meanwhile: what it does after the export is in the old ledger alone.`
}

func (c importCmd) Run(ctx context.Context, g *globals) error {
	var in io.Reader = os.Stdin
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return wrong(err)
		}
		defer f.Close()
		in = f
	}
	return g.withLedger(ctx, func(l *ledger.Ledger, where string) error {
		events, err := l.Import(ctx, in)
		if _, bad := errors.AsType[*ledger.ImportError](err); bad {
			return wrong(fmt.Errorf("%s: %w", c.File, err))
		}
		if errors.Is(err, ledger.ErrNotEmpty) {
			return wrong(err)
		}
		if err != nil {
			return err
		}
		return g.answer(map[string]any{"events": events, "ledger": where}, fmt.Sprintf("%d events of %s imported into %s", events, c.File, where))
	})
}

// withLedger opens the configured ledger alone.
func (g *globals) withLedger(ctx context.Context, f func(l *ledger.Ledger, where string) error) error {
	d, err := open(ctx, g)
	if err != nil {
		return err
	}
	l, err := ledger.Open(ctx, d.cfg.Ledger)
	if err != nil {
		return err
	}
	return errors.Join(f(l, d.cfg.Ledger), l.Close())
}
