package e2e

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"colophon/internal/sandbox/fault"
	hub "colophon/internal/sandbox/github"
	"colophon/publish"
)

// trouble is what goes wrong with one change, or is odd about GitHub while it is made.
type trouble struct {
	name   string
	rules  []fault.Rule // for the request
	set    func(*hub.Settings)
	around func(*simulation, boundary) (after func())
	at     func(boundary) bool    // which boundaries it can happen at; all, if nil
	keyed  bool                   // it takes a Mastodon that honours idempotency keys
	named  func(*setup, *trouble) // how the servers are reached, for the trouble with it
	double bool                   // two workers do the step at once
	once   bool                   // a look would tell that it is too early: one request must do
	asks   map[string]publish.Condition
	spends []string // the changes whose budget it spends together with a death before it
}

// troubles are all that can go wrong. What a person is asked about is said by server; where nothing is said, the
// run passes by itself.
func troubles() []trouble {
	var all []trouble
	for _, r := range []fault.Rule{
		{Kind: fault.ResetBefore},
		{Kind: fault.ResetAfter},
		{Kind: fault.HangBefore, Delay: 20 * time.Millisecond},
		{Kind: fault.HangAfter, Delay: 20 * time.Millisecond},
		{Kind: fault.StatusBefore, Status: 500},
		{Kind: fault.StatusAfter, Status: 500},
		{Kind: fault.StatusBefore, Status: 502},
		{Kind: fault.StatusAfter, Status: 502},
		{Kind: fault.StatusBefore, Status: 503, RetryAfter: "5"},
		{Kind: fault.StatusAfter, Status: 503},
		{Kind: fault.StatusAfter, Status: 504},
		{Kind: fault.StatusBefore, Status: 408},
		{Kind: fault.StatusAfter, Status: 408},
		{Kind: fault.StatusBefore, Status: 425},
		{Kind: fault.StatusBefore, Status: 429, RetryAfter: "7"},
		{Kind: fault.StatusBefore, Status: 429},
		{Kind: fault.StatusBefore, Status: 403, RetryAfter: "7"},
		{Kind: fault.CutBody},
		{Kind: fault.EmptyBody},
		{Kind: fault.WrongType},
		{Kind: fault.MissingID},
	} {
		all = append(all, trouble{name: strings.TrimSpace(fmt.Sprintf("%s %d %s", r.Kind, r.Status, r.RetryAfter)), rules: []fault.Rule{r}})
	}
	for n, r := range all {
		if r.rules[0].Status == 403 { // which IndexNow says of keys alone
			all[n].asks = map[string]publish.Condition{"indexnow": "key_refused"}
		}
	}
	moved := map[string]publish.Condition{"github": "repository_moved"}
	all = append(all,
		trouble{name: "403 limit without a time", rules: []fault.Rule{{Kind: fault.StatusBefore, Status: 403, Body: `{"message":"You have exceeded a secondary rate limit.","error":"Too many requests"}`}}, asks: map[string]publish.Condition{"mastodon": "rejected", "bluesky": "rejected", "devto": "rejected", "indexnow": "key_refused"}},
		trouble{name: "redirect 307", rules: []fault.Rule{{Kind: fault.Redirect}}, asks: moved},
		trouble{name: "redirect 301", rules: []fault.Rule{{Kind: fault.Redirect, Status: 301}}, asks: moved},
		trouble{name: "refused connection", around: func(s *simulation, b boundary) func() {
			s.port(b.server).Refuse()
			return func() {
				if err := s.port(b.server).Accept(); err != nil {
					s.t.Error(err)
				}
			}
		}},
		trouble{name: "the name is not found", named: func(o *setup, tr *trouble) {
			o.name.Host = names.fresh()
			tr.around = func(*simulation, boundary) func() {
				names.lose(o.name.Host)
				return func() { names.find(o.name.Host) }
			}
		}},
		trouble{name: "the certificate is not trusted", named: func(o *setup, tr *trouble) {
			papers := &paperwork{}
			o.name = fault.Name{Host: names.fresh(), TLS: papers.config()}
			tr.around = func(*simulation, boundary) func() {
				papers.wrong.Store(true)
				return func() { papers.wrong.Store(false) }
			}
		}},
		trouble{name: "two workers at once", double: true},
		trouble{name: "429 four times", rules: slices.Repeat([]fault.Rule{{Kind: fault.StatusBefore, Status: 429, RetryAfter: "90"}}, 4)},
	)
	return append(all, append(late(), append(stale(), oddities()...)...)...)
}

// late are effects that land after the client has given up: before, within and after each look, and around the
// request that follows.
func late() []trouble {
	var all []trouble
	for _, l := range []fault.Landing{{Method: "GET", After: 1}, {Method: "GET", After: 1, Behind: true}, {Method: "GET", After: 2, Behind: true}, {Method: "GET", After: 3, Behind: true}} {
		all = append(all, trouble{name: fmt.Sprintf("lands late, at look %d, behind %v", l.After, l.Behind), keyed: l.After == 3, rules: []fault.Rule{{Kind: fault.LateEffect, Lands: &l}}})
	}
	for _, behind := range []bool{false, true} {
		all = append(all, trouble{
			name: fmt.Sprintf("lands at the retry, behind %v", behind), keyed: true,
			around: func(s *simulation, b boundary) func() {
				s.layer(b.server).Add(fault.Rule{Method: b.change.Method, Kind: fault.LateEffect, Lands: &fault.Landing{Method: b.change.Method, After: 1, Behind: behind}})
				return nil
			},
		})
	}
	return all
}

// notYet are the reads of a channel that do not show yet what was posted.
var notYet = map[string]fault.Rule{
	"bluesky":  {Kind: fault.Stale, Path: "getRecord$", Status: 400, Body: `{"error":"RecordNotFound","message":"Could not locate record"}`},
	"devto":    {Kind: fault.Stale, Path: "/articles/me", Status: 200, Body: "[]"},
	"mastodon": {Kind: fault.Stale, Path: "/statuses$", Status: 200, Body: "[]"},
	"x":        {Kind: fault.Stale, Path: "/tweets$", Status: 200, Body: `{"meta":{"result_count":0}}`},
}

// stale are reads that do not show the change yet although it was made, whose answer was lost or not.
func stale() []trouble {
	var all []trouble
	for _, lost := range []bool{false, true} {
		for _, reads := range []int{1, 2, 6} {
			var spends []string
			if lost && reads == 6 {
				spends = []string{"branch", "pull request", "sweep"} // what exists already is refused, and not seen
			}
			all = append(all, trouble{
				spends: spends,
				name:   fmt.Sprintf("%d stale reads, answer lost %v", reads, lost),
				// A channel is read whole in one request, and its second look ends after the channel's own delay.
				at: func(b boundary) bool { return b.server == "github" || notYet[b.server].Kind != "" && reads <= 2 },
				around: func(s *simulation, b boundary) func() {
					if lost {
						s.layer(b.server).Add(fault.Rule{Method: b.change.Method, Kind: fault.ResetAfter})
					}
					return func() {
						r := fault.Rule{Kind: fault.Stale}
						if c := notYet[b.server]; c.Kind != "" {
							r = c
						}
						r.Times = reads
						s.layer(b.server).Add(r)
					}
				},
			})
		}
	}
	return all
}

// oddities are GitHub's own ways around a merge.
func oddities() []trouble {
	merge := func(b boundary) bool { return b.op.What == "merge" }
	return []trouble{
		{name: "somebody pushes at the last moment", at: merge, asks: map[string]publish.Condition{"github": "head_changed"}, around: func(s *simulation, _ boundary) func() {
			undo, err := s.world.GitHub.Push(s.intent(key).Branch())
			if err != nil {
				s.t.Error(err)
			}
			s.people.mend = undo
			return nil
		}},
		{name: "the pull request's head lags", once: true, at: merge, set: func(s *hub.Settings) { s.HeadLag = 4 }},
		{name: "mergeability is computed for long", once: true, at: merge, set: func(s *hub.Settings) { s.Nulls = 6 }},
		{name: "the base was modified", at: merge, set: func(s *hub.Settings) { s.BaseModified = 1 }},
		{name: "the base was modified twice", at: merge, spends: []string{"merge"}, set: func(s *hub.Settings) { s.BaseModified = 2 }},
		{name: "another merge is under way", at: merge, set: func(s *hub.Settings) { s.MergeInProgress = 1 }},
		{name: "it lands, and its record stays open", at: merge, set: func(s *hub.Settings) { s.MergeUnrecorded = 1 }},
		{name: "it lands, and its record lags", at: merge, set: func(s *hub.Settings) { s.RecordLag = 5 }},
		{name: "it lands, and is called not mergeable", at: merge, set: func(s *hub.Settings) { s.MergeDenied = 1 }},
		{name: "checks come green late", once: true, at: merge, set: func(s *hub.Settings) {
			s.Rules, s.Checks, s.ChecksDelay = []hub.Rule{hub.RequireChecks("build")}, []hub.Check{{Name: "build", Conclusion: "success"}}, 5
		}},
	}
}

// asked are the conditions that a person is asked about in a case: none, as a rule.
func (tr trouble) asked(b boundary, death string) []publish.Condition {
	c := tr.asks[b.server]
	switch {
	case c != "" && c != "head_changed" && death == named(b.op)+afterLedger: // the refusal is in the ledger, its reason died; a head can be seen
		c = "left_failed"
	case slices.Contains(tr.spends, b.op.What) && death == named(b.op)+beforeCall: // three attempts, of which one died and two were unclear
		c = "not_seen"
	}
	if c == "" {
		return nil
	}
	return []publish.Condition{c}
}
