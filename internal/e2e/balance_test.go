package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"colophon/publish"
)

// balance is what came of a simulation, counted at the servers and in the ledger.
type balance struct {
	duplicates, lost int
	open             bool     // something is not settled
	faults           []string // in words; none if all is well
}

func (b *balance) fault(format string, args ...any) {
	b.faults = append(b.faults, fmt.Sprintf(format, args...))
}

// tally is what many simulations come to together.
type tally struct {
	cases, duplicates, lost, unsettled atomic.Int32
	enough                             atomic.Bool // no more cases are wanted
}

func (s *tally) add(b balance) {
	s.cases.Add(1)
	s.duplicates.Add(int32(b.duplicates))
	s.lost.Add(int32(b.lost))
	if b.open {
		s.unsettled.Add(1)
	}
}

// balance demands one of everything: for each article one file, one commit, one pull request that was merged
// once, no branch, and one announcement on each of its channels; one terminal record, and no operation open. Only
// a ping may come twice. Whoever asked for other inputs under the same key must have been refused.
func (s *simulation) balance(articles []publish.Intent, runs, altered []ended, err error) (b balance) {
	s.world.SiteFaults.Clear() // the audit reads the site as the public does
	a := s.world.Audit()
	n, posts, pings := len(articles), 0, 0
	for _, in := range articles {
		pings += ones(in.Channels, "indexnow")
		posts += len(in.Channels) - ones(in.Channels, "indexnow")
	}
	b.duplicates = a.Duplicates - a.Repeated
	b.lost = max(0, n-a.Articles) + max(0, n-a.Published) + max(0, n-a.Merges) + max(0, posts-a.Posts) + max(0, pings-(a.Pings-a.Repeated))
	if b.duplicates != 0 || b.lost != 0 || a.Merges != n || a.Commits != n || a.Posts != posts || a.OpenPulls > s.world.GitHub.StaleRecords() || a.Branches != 0 {
		b.fault("not one of everything for %d articles: %+v", n, a)
	}
	if err != nil {
		b.open = true
		b.fault("%v; asked about %v", err, s.people.conditions())
	}
	for _, r := range runs {
		if !r.Joined && (r.Err != "" || r.Record.Outcome != publish.Passed) {
			b.open = true
			b.fault("a run ended %q, %q, asked about %v\n%s", r.Record.Outcome, r.Err, s.people.conditions(), r.Record.Markdown())
		}
	}
	for _, r := range altered {
		if !r.Joined && !strings.Contains(r.Err, "topic") {
			b.fault("an altered topic was not refused by name: %q, %s", r.Err, r.Record.Outcome)
		}
	}
	for _, in := range articles {
		s.settled(in, &b)
	}
	if s.repeated.Load() {
		b.fault("Temporal repeated a step that changes something")
	}
	return b
}

// settled looks into the ledger.
func (s *simulation) settled(in publish.Intent, b *balance) {
	p, known, err := s.ledger.Publication(context.Background(), in.Key, in.Revision)
	if err != nil || !known || p.Record == nil || p.Record.Outcome != publish.Passed || p.Intent.Topic != in.Topic {
		b.open = true
		b.fault("%s has no good terminal record: %v", in.Key, err)
	}
	ops, err := s.ledger.Operations(context.Background(), in.Key)
	if err != nil || len(ops) == 0 {
		b.open = true
		b.fault("%s: operations %v, %v", in.Key, ops, err)
	}
	for _, op := range ops {
		if op.Prior.State != publish.Done {
			b.open = true
			b.fault("%s of %s is %s", op.Operation.What, in.Key, op.Prior.State)
		}
	}
}

func ones(all []string, one string) int {
	if slices.Contains(all, one) {
		return 1
	}
	return 0
}
