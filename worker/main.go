// Command worker does the work: it runs the steps of every intent that has been started.
//
// It finds Temporal by Temporal's own environment variables (TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, …), and
// everything else in colophon.yaml. It stops on SIGTERM or Ctrl-C, after the requests that are under way.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"colophon/internal/config"
	"colophon/internal/service"

	"github.com/alecthomas/kong"
)

var cli struct {
	Config string `short:"c" default:"colophon.yaml" placeholder:"FILE" help:"Configuration file."`
	Check  bool   `help:"Read the configuration and the secrets, say whether they are good, and end."`
	Debug  bool   `help:"Log more."`
}

func main() {
	kong.Parse(&cli, kong.Name("worker"), kong.Description("Runs the steps of every intent that has been started, until it is told to stop (SIGTERM, Ctrl-C)."))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "worker: %v\n", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	level := slog.LevelInfo
	if cli.Debug {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	cfg, err := config.Load(cli.Config)
	if err != nil {
		return err
	}
	if cli.Check {
		parts, err := service.Assemble(ctx, cfg)
		if err != nil {
			return err
		}
		fmt.Println("The configuration is good.")
		return parts.Close()
	}
	c, err := service.Connect(ctx, log)
	if err != nil {
		return err
	}
	defer c.Close()
	return service.Run(ctx, c, cfg, log)
}
