package e2e

import (
	"fmt"
	"sync/atomic"
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
	s := simulate(t, setup{gaps: map[string]time.Duration{"mastodon": gap}})
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
	for channel, looks := range map[string]string{"mastodon": "/statuses$", "x": "/tweets$"} {
		t.Run(channel, func(t *testing.T) {
			s := simulate(t, setup{})
			all, ticks := s.articles(time.Minute)
			s.layer(channel).Add(fault.Rule{Method: "POST", Kind: fault.ResetAfter})
			s.layer(channel).Add(fault.Rule{ // every look; the first read of posts is of what was there before
				Method: "GET", Path: looks, Skip: 1, Times: -1, Kind: fault.StatusBefore, Status: 403, Body: `{"error":"This action is not allowed"}`,
			})
			seen := false
			s.people.mend = func() {
				stands := s.world.Announced()
				for _, c := range channels {
					want := len(all)
					if c == channel {
						want = 1
					}
					if len(stands[c]) != want {
						t.Errorf("an hour after the line of %s was stopped there are %d announcements on %s, want %d", channel, len(stands[c]), c, want)
					}
				}
				seen = true
				s.layer(channel).Clear()
			}
			runs, err := s.run(ticks...)
			for _, f := range s.balance(all, runs, nil, err).faults {
				t.Error(f)
			}
			if !seen || len(s.people.asked) != 1 {
				t.Errorf("a person was asked about %v, want one question", s.people.asked)
			}
		})
	}
}

// everywhere has the articles announced on every channel there is.
func everywhere(all []publish.Intent, ticks []tick) {
	for n := range all {
		all[n].Channels = channels
		ticks[n].Intent = all[n]
	}
}

// TestFanOut announces three articles on five channels: the slowest account's pace is what it takes, and none but it is
// held up by it.
func TestFanOut(t *testing.T) {
	const gap = 75 * time.Second
	s := simulate(t, setup{gaps: map[string]time.Duration{"devto": gap}})
	all, ticks := s.articles(0)
	everywhere(all, ticks)
	var others atomic.Int32 // posts on other accounts when the second article is about to be posted on the slow one
	posted := 0
	s.ledger.around = func(op publish.Operation) func() {
		if op.Channel != "devto" {
			return nil
		}
		if posted++; posted == 2 {
			for name, links := range s.world.Posted() {
				if name != "devto" {
					others.Add(int32(len(links)))
				}
			}
		}
		return nil
	}
	runs, err := s.run(ticks...)
	for _, f := range s.balance(all, runs, nil, err).faults {
		t.Error(f)
	}
	s.pairs(all)
	if others.Load() != 9 {
		t.Errorf("%d posts on other accounts had been made while the slow one waited, want 9", others.Load())
	}
	articles := s.world.DevTo.Articles()
	floor := time.Duration(len(all)-1) * gap
	if took := articles[len(articles)-1].At.Sub(articles[0].At); took < floor || took > floor+floor/100 {
		t.Errorf("%d articles took %s; the pace allows %s", len(articles), took, floor)
	}
	if asked := s.people.conditions(); len(asked) != 0 {
		t.Errorf("a person was asked about %v", asked)
	}
	for name, reads := range map[string]int{"bluesky": s.world.Bluesky.Reads(), "devto": s.world.DevTo.Reads(), "mastodon": s.world.Mastodon.Reads(), "x": s.world.X.Reads()} {
		if reads > len(all) { // of what had been published before; each article may be the first that meets the account
			t.Errorf("%s was read back %d times in a clean run", name, reads)
		}
	}
}

// TestFanOutSurvivesADeathAtAnyCall kills the process at the first, second and third call of every channel, before it
// and after it: each of the fifteen pairs is there once.
func TestFanOutSurvivesADeathAtAnyCall(t *testing.T) {
	for _, name := range channels {
		for _, at := range []string{beforeCall, afterEffect} {
			for nth := 1; nth <= 3; nth++ {
				if testing.Short() && nth != 2 {
					continue
				}
				what := "post"
				if name == "indexnow" {
					what = "ping"
				}
				t.Run(fmt.Sprintf("%s%s %d", name, at, nth), func(t *testing.T) {
					t.Parallel()
					s := simulate(t, setup{})
					all, ticks := s.articles(0)
					everywhere(all, ticks)
					s.ledger.die(name+" "+what+at, nth)
					runs, err := s.run(ticks...)
					for _, f := range s.balance(all, runs, nil, err).faults {
						t.Error(f)
					}
					s.pairs(all)
				})
			}
		}
	}
}

// pairs demands that every article was announced once on every channel that is posted to.
func (s *simulation) pairs(all []publish.Intent) {
	s.t.Helper()
	posted := s.world.Posted()
	for _, in := range all {
		for _, name := range in.Channels {
			n := 0
			for _, link := range posted[name] {
				if link == string(in.URL) {
					n++
				}
			}
			if name != "indexnow" && n != 1 {
				s.t.Errorf("%s on %s: %d times", in.Slug, name, n)
			}
		}
	}
}
