package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"colophon/publish"

	"go.temporal.io/sdk/client"
)

// follow prints a run's steps as they happen, until the run has closed, or waits for a person, and
// answers its last record. Every look is a query, so the pauses grow while nothing happens.
func follow(ctx context.Context, c client.Client, key publish.Key, w io.Writer) (publish.Record, error) {
	f := follower{out: w, label: key.Entry(), told: map[string]bool{}}
	done := make(chan result, 1)
	go func() {
		var rec publish.Record
		err := c.GetWorkflow(ctx, string(key), "").Get(ctx, &rec)
		done <- result{rec, err}
	}()
	pause := shortest
	for {
		select {
		case r := <-done:
			if r.err == nil {
				f.tell(r.record)
			}
			return r.record, r.err
		case <-time.After(pause):
		}
		rec, err := ask(ctx, c, key)
		if err != nil {
			continue // not begun yet, or just closed: the result decides
		}
		pause = min(pause*3/2, longest)
		if f.tell(rec) {
			pause = shortest
		}
		if rec.Waiting != nil && rec.Waiting.Owner == publish.Person {
			return rec, nil
		}
	}
}

const (
	shortest = 250 * time.Millisecond
	longest  = 5 * time.Second
)

type result struct {
	record publish.Record
	err    error
}

// ask queries a run's record, with what its deliveries that are not settled say of themselves: when one of
// them waits for a person, the run does.
func ask(ctx context.Context, c client.Client, key publish.Key) (publish.Record, error) {
	rec, err := query(ctx, c, string(key))
	if err != nil || rec.Waiting == nil || rec.Waiting.Step != publish.Syndicate {
		return rec, err
	}
	for _, d := range rec.Deliveries {
		if d.Outcome != "" {
			continue
		}
		child, err := query(ctx, c, publish.DeliveryID(key, d.Channel))
		if err != nil {
			continue // not begun yet
		}
		for _, l := range child.Steps {
			if len(l.Turns) > 0 {
				rec.Steps = append(rec.Steps, publish.StepLine{Step: publish.Step(d.Channel), Outcome: l.Outcome, Turns: l.Turns})
			}
		}
		if w := child.Waiting; w != nil && w.Owner == publish.Person {
			rec.Waiting = w
		}
	}
	return rec, nil
}

func query(ctx context.Context, c client.Client, id string) (publish.Record, error) {
	var rec publish.Record
	v, err := c.QueryWorkflow(ctx, id, "", publish.RecordQuery)
	if err != nil {
		return rec, err
	}
	return rec, v.Get(&rec)
}

// follower remembers what it has printed of one run.
type follower struct {
	out   io.Writer
	label string
	told  map[string]bool
}

// tell prints what is new in the record, and says whether anything was.
func (f *follower) tell(r publish.Record) bool {
	news := false
	say := func(id, format string, args ...any) {
		if f.told[id] {
			return
		}
		f.told[id], news = true, true
		fmt.Fprintf(f.out, "%-22s %s\n", f.label, fmt.Sprintf(format, args...))
	}
	for _, l := range r.Steps {
		for n, t := range l.Turns {
			if t.Outcome != publish.Passed || t.Detail != "" {
				say(fmt.Sprintf("%s turn %d", l.Step, n), "%s %-12s %s%s", turned(t), l.Step, t.Detail, by(t.By))
			}
		}
		if !l.Ended.IsZero() {
			say(string(l.Step), "✓ %-12s %s", l.Step, receipts(l.Receipts))
		}
	}
	for _, d := range r.Deliveries {
		if d.Outcome != "" {
			say("delivery "+d.Channel, "%s %-12s %s %s", sign(d.Outcome), d.Channel, d.Receipt.URL, d.Detail)
		}
	}
	if w := r.Waiting; w != nil && w.Owner == publish.Person {
		say("waiting "+w.For, "! a person's move: %s. %s", w.For, w.Next)
	}
	return news
}

func sign(o publish.Outcome) string {
	switch o {
	case publish.Passed:
		return "✓"
	case publish.NotConfirmed:
		return "?"
	default:
		return "✗"
	}
}

// turned marks a turn: what goes on by itself is no failure.
func turned(t publish.Turn) string {
	if t.Again && t.Outcome != publish.NotConfirmed {
		return "…"
	}
	return sign(t.Outcome)
}

func by(who string) string {
	if who == "" {
		return ""
	}
	return " (" + who + ")"
}

func receipts(rs []publish.Named) string {
	var parts []string
	for _, n := range rs {
		switch r := n.Receipt; {
		case r.SHA != "" && r.ID != "" && r.ID != n.What:
			parts = append(parts, fmt.Sprintf("%s %s at %s", n.What, r.ID, r.SHA.Short()))
		case r.SHA != "":
			parts = append(parts, n.What+" "+r.SHA.Short())
		case r.URL != "":
			parts = append(parts, n.What+" "+r.URL)
		default:
			parts = append(parts, n.What+" "+r.ID)
		}
	}
	return strings.Join(parts, ", ")
}
