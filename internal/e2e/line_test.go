package e2e

import (
	"testing"
	"time"

	"colophon/internal/sandbox/fault"
	"colophon/publish"
)

// articles are the calendar's intents, and a tick for each, so far apart.
func (s *simulation) articles(apart time.Duration) (all []publish.Intent, ticks []tick) {
	for n, e := range s.calendar.Entries {
		in := s.intent(e.Key)
		all, ticks = append(all, in), append(ticks, tick{time.Duration(n) * apart, in})
	}
	return all, ticks
}

// TestDeliveriesKeepTheAccountsPace: articles that are live at once are posted the account's gap apart, without more
// delay than that; an account without a gap is not held up.
func TestDeliveriesKeepTheAccountsPace(t *testing.T) {
	const gap = 75 * time.Second
	s := simulate(t, setup{gap: gap})
	all, ticks := s.articles(0)
	runs, err := s.run(ticks...)
	for _, f := range s.balance(all, runs, nil, err).faults {
		t.Error(f)
	}
	posts := s.world.Mastodon.Statuses()
	for n := 1; n < len(posts); n++ {
		if apart := posts[n].Created.Sub(posts[n-1].Created); apart < gap {
			t.Errorf("posts %d and %d are %s apart", n-1, n, apart)
		}
	}
	floor := time.Duration(len(all)-1) * gap
	if took := posts[len(posts)-1].Created.Sub(posts[0].Created); took > floor+floor/100 {
		t.Errorf("%d posts took %s; the pace allows %s", len(posts), took, floor)
	}
	if asked := s.people.conditions(); len(asked) != 0 {
		t.Errorf("a person was asked about %v", asked)
	}
}

// TestAnUnknownStopsItsLineAndNoOther: while nobody knows whether a post was made, nothing further is posted on that
// account; on others all goes on. When a person has decided, the line does.
func TestAnUnknownStopsItsLineAndNoOther(t *testing.T) {
	s := simulate(t, setup{})
	all, ticks := s.articles(time.Minute)
	s.world.MastodonFaults.Add(fault.Rule{Method: "POST", Kind: fault.ResetAfter})
	s.world.MastodonFaults.Add(fault.Rule{ // every look; the first read of posts is of what was there before
		Method: "GET", Path: "/statuses$", Skip: 1, Times: -1, Kind: fault.StatusBefore, Status: 403, Body: `{"error":"This action is not allowed"}`,
	})
	seen := false
	s.people.mend = func() {
		if posts, pings := len(s.world.Mastodon.Statuses()), len(s.world.IndexNow.Pings()); posts != 1 || pings != len(all) {
			t.Errorf("an hour after the line was stopped there are %d posts and %d pings, want 1 and %d", posts, pings, len(all))
		}
		seen = true
		s.world.MastodonFaults.Clear()
	}
	runs, err := s.run(ticks...)
	for _, f := range s.balance(all, runs, nil, err).faults {
		t.Error(f)
	}
	if !seen || len(s.people.asked) != 1 {
		t.Errorf("a person was asked about %v, want one question", s.people.asked)
	}
}
