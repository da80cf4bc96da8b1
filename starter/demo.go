package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"colophon/internal/devenv"
	"colophon/internal/intake"
	"colophon/internal/sandbox/fault"
	"colophon/publish"
)

type demoCmd struct {
	Once   bool   `help:"End when everything is published, instead of staying up to be looked at."`
	Dir    string `placeholder:"DIR" help:"Keep everything in this folder. A fresh temporary one unless set, which is removed again."`
	UIPort int    `name:"ui-port" placeholder:"PORT" help:"Port of Temporal's Web UI; a free one unless set."`
}

// Help is shown by demo --help.
func (demoCmd) Help() string {
	return `Starts Temporal with its Web UI, a small world to publish into (a Git repository behind GitHub's API, a
web site, IndexNow, accounts on Bluesky, DEV, Mastodon and X) and the real worker, all on this machine. Publishes
the three example articles. The answer to one merge is lost on the way: the run finds out what happened instead of
merging again.

The first start builds Temporal's command line, which takes some minutes, unless temporal is on the PATH.`
}

// summary is the demo's closing line. Everything is counted at the sandbox, except reconciled, which counts
// the unclear outcomes on the runs' records that were settled by looking.
type summary struct {
	Articles     int     `json:"articles"`
	Published    int     `json:"published"`
	PullRequests int     `json:"pull_requests"`
	Merges       int     `json:"merges"`
	Deliveries   int     `json:"deliveries"`
	Settled      int     `json:"settled"`
	Duplicates   int     `json:"duplicates"`
	Reconciled   int     `json:"reconciled"`
	Seconds      float64 `json:"seconds"`
	// What one article on a clean run costs.
	Mutations int `json:"github_mutations"`
	Reads     int `json:"github_reads"`
	Events    int `json:"history_events"`
	Actions   int `json:"actions"`
}

func (d demoCmd) Run(ctx context.Context, g *globals) (err error) {
	begun := time.Now()
	dir := d.Dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "colophon-demo-"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	out := g.progress()
	env, err := devenv.Start(ctx, devenv.Options{Dir: dir, UIPort: d.UIPort, Progress: out, Log: quiet()})
	if err != nil {
		return err
	}
	defer env.Close()
	parts, stop, err := env.Work(ctx)
	if err != nil {
		return err
	}
	defer stop()

	demo := demo{env: env, ledger: parts.Ledger, out: &lines{w: out}}
	fmt.Fprintf(out, "Temporal's Web UI  %s\nThe sandbox        %s\nThe site           %s\n\n", env.Temporal.UIURL(), env.World.AuditPort.URL(), env.World.SitePort.URL())
	s, err := demo.run(ctx)
	if err != nil {
		return err
	}
	s.Seconds = float64(time.Since(begun).Milliseconds()) / 1000
	if err := g.answer(s, s.text()); err != nil {
		return err
	}
	if !d.Once {
		fmt.Fprintf(out, "\nEverything stays up. Look at the runs in Temporal's Web UI: %s\nand at what came of them: %s\nCtrl-C ends it.\n", env.Temporal.UIURL(), env.World.AuditPort.URL())
		<-ctx.Done()
	}
	if s.Duplicates > 0 || s.Published != s.Articles || s.Settled != s.Deliveries {
		return fmt.Errorf("the demo did not end with one of everything")
	}
	return nil
}

func (s summary) text() string {
	return fmt.Sprintf("\n%d articles, %d published, %d pull requests, %d merges, %d announcements (%d settled), %d duplicates; %d unclear outcome settled by looking; %.1f s\n"+
		"A clean article: %d changes and %d reads at GitHub, %d history events, %d actions.",
		s.Articles, s.Published, s.PullRequests, s.Merges, s.Deliveries, s.Settled, s.Duplicates, s.Reconciled, s.Seconds, s.Mutations, s.Reads, s.Events, s.Actions)
}

// quiet keeps the SDK's log out of the progress.
func quiet() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
}

// demo publishes the examples.
type demo struct {
	env    *devenv.Env
	ledger intake.Ledger
	out    *lines
}

// run publishes the first article undisturbed, to see what that costs, and the others side by side, with
// one merge answer lost.
func (d demo) run(ctx context.Context) (summary, error) {
	entries := d.env.Calendar.Entries
	records := make([]publish.Record, len(entries))
	errs := make([]error, len(entries))
	records[0], errs[0] = d.publish(ctx, entries[0].Key)
	if errs[0] != nil {
		return summary{}, errs[0]
	}
	clean := d.env.World.Audit()
	var c cost
	if err := c.add(ctx, d.env.Client, string(entries[0].Key), false); err != nil {
		return summary{}, err
	}
	d.env.World.GitHubFaults.Add(fault.Rule{Method: "PUT", Path: "/merge$", Kind: fault.ResetAfter})
	fmt.Fprintln(d.out, "\nNow two at once, and the answer to the next merge is lost …")
	var wg sync.WaitGroup
	for n, e := range entries[1:] {
		wg.Go(func() { records[n+1], errs[n+1] = d.publish(ctx, e.Key) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return summary{}, err
		}
	}
	a := d.env.World.Audit()
	s := summary{
		Articles: a.Articles, Published: a.Published, PullRequests: a.PullRequests, Merges: a.Merges, Deliveries: a.Deliveries, Duplicates: a.Duplicates,
		Mutations: clean.Mutations, Reads: clean.Reads, Events: c.Events, Actions: c.Actions,
	}
	for _, r := range records {
		s.Settled += d.settled(r)
		s.Reconciled += reconciled(r)
	}
	return s, nil
}

func (d demo) publish(ctx context.Context, key publish.Key) (publish.Record, error) {
	req, err := d.env.Request(key)
	if err != nil {
		return publish.Record{}, err
	}
	a, err := intake.Start(ctx, d.env.Client, d.ledger, d.env.Config.TaskQueue, req)
	if err != nil {
		return publish.Record{}, err
	}
	fmt.Fprintf(d.out, "%-22s → %s\n", key.Entry(), d.env.RunURL(string(key), a.RunID))
	return follow(ctx, d.env.Client, key, d.out)
}

// settled counts the record's deliveries whose receipt names what stands on the channel.
func (d demo) settled(r publish.Record) (n int) {
	stands := d.env.World.Announced()
	for _, del := range r.Deliveries {
		for _, one := range stands[del.Channel] {
			if del.Outcome == publish.Passed && (one.ID != "" && one.ID == del.Receipt.ID || one.ID == "" && one.URL == del.Receipt.URL) {
				n++
				break
			}
		}
	}
	return n
}

// reconciled counts the steps that were unclear and passed in the end.
func reconciled(r publish.Record) int {
	n := 0
	for _, l := range r.Steps {
		for _, t := range l.Turns {
			if t.Outcome == publish.NotConfirmed && l.Outcome == publish.Passed {
				n++
				break
			}
		}
	}
	return n
}

// lines lets several runs print side by side, a whole line at a time.
type lines struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
