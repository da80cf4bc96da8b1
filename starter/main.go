// Command starter is Colophon's command line: it shows the product on an embedded world, starts intents
// and tells how they stand.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"colophon/internal/service"
	"colophon/publish"

	"github.com/alecthomas/kong"
)

// The exit codes.
const (
	exitOK          = 0
	exitFailed      = 1 // the run failed, an audit has findings, or something unexpected happened
	exitUsage       = 2 // wrong input; nothing was changed
	exitConflict    = 3 // the key is bound to other inputs; nothing was changed
	exitBlocked     = 4 // the run waits for a person
	exitUnreachable = 5 // Temporal does not answer; nothing was changed
)

type globals struct {
	Config string    `short:"c" default:"colophon.yaml" placeholder:"FILE" help:"Configuration file."`
	JSON   bool      `help:"Answer as JSON on standard output; progress goes to standard error."`
	Out    io.Writer `kong:"-"`
	Err    io.Writer `kong:"-"`
}

var cli struct {
	globals
	Demo    demoCmd    `cmd:"" help:"Publish the example articles into a small world on this machine, losing one merge answer on the way."`
	Publish publishCmd `cmd:"" help:"Start the intent with this key, or join it, or say that it is published."`
	Status  statusCmd  `cmd:"" help:"Show how intents stand: steps, receipts, what is waited for, whose move it is."`
	Audit   auditCmd   `cmd:"" help:"Compare the live site with the ledger and the calendar: what was never announced, is gone, listed twice, overdue."`
	Ledger  ledgerCmd  `cmd:"" help:"Export the ledger, or rebuild one."`
}

const description = `Colophon publishes each article exactly once, and can show how.

An intent, such as media-001:2026-10-04:idempotency, is a line in the calendar. It becomes a branch, a
commit, a pull request, a merge, a verified live page and announcements, once each, however often
machines die and answers get lost.

Begin with:

  starter demo
  starter publish media-001:2026-10-04:idempotency --wait

Exit codes; after 2, 3 and 5 nothing has been changed:

  0  done
  1  failed, or an audit has findings
  2  wrong input
  3  the key is bound to other inputs
  4  waits for a person
  5  Temporal does not answer`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run parses and executes one command line; the world is handed in so that tests can look at it.
func run(ctx context.Context, args []string, out, errOut io.Writer) (code int) {
	app := cli
	app.Out, app.Err = out, errOut
	exited := -1
	parser, err := kong.New(&app, kong.Name("starter"), kong.Description(description), kong.Writers(out, errOut),
		kong.Exit(func(c int) { exited = c }), kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.BindTo(ctx, (*context.Context)(nil)))
	if err != nil {
		fmt.Fprintln(errOut, err)
		return exitFailed
	}
	command, err := parser.Parse(args)
	if exited >= 0 {
		return exited
	}
	if err != nil {
		fmt.Fprintf(errOut, "starter: %v\nSee starter --help.\n", err)
		return exitUsage
	}
	return report(&app.globals, command.Run(&app.globals))
}

// report says what went wrong, as text or JSON, and chooses the exit code by the error's kind.
func report(g *globals, err error) int {
	if err == nil {
		return exitOK
	}
	code := exitCode(err)
	if _, told := errors.AsType[silent](err); told {
		return code
	}
	if g.JSON {
		answer := map[string]any{"error": err.Error(), "exit_code": code}
		if c, ok := errors.AsType[*publish.ConflictError](err); ok {
			answer["conflict"] = c
		}
		_ = json.NewEncoder(g.Out).Encode(answer)
	} else {
		fmt.Fprintf(g.Err, "starter: %v\n", err)
	}
	return code
}

// coded is an error that knows its exit code.
type coded struct {
	error
	code int
}

func (c coded) Unwrap() error { return c.error }

// silent is an error whose answer has said it all.
type silent struct{ error }

// wrong marks an error as wrong input.
func wrong(err error) error { return coded{err, exitUsage} }

func exitCode(err error) int {
	if c, ok := errors.AsType[coded](err); ok {
		return c.code
	}
	if _, ok := errors.AsType[*publish.ConflictError](err); ok {
		return exitConflict
	}
	if _, ok := errors.AsType[*publish.TakenError](err); ok {
		return exitConflict
	}
	if _, ok := errors.AsType[*publish.CorrectionError](err); ok {
		return exitConflict
	}
	if _, ok := errors.AsType[*service.UnreachableError](err); ok {
		return exitUnreachable
	}
	return exitFailed
}

// answer prints v as one line of JSON, or text for people.
func (g *globals) answer(v any, text string) error {
	if g.JSON {
		return json.NewEncoder(g.Out).Encode(v)
	}
	_, err := fmt.Fprintln(g.Out, text)
	return err
}

// progress is where progress goes: apart from the answer when that is JSON.
func (g *globals) progress() io.Writer {
	if g.JSON {
		return g.Err
	}
	return g.Out
}
