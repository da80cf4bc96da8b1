package e2e

import (
	"context"
	"testing"
	"time"

	"colophon/internal/sandbox/fault"
	"colophon/publish"
)

// TestAWorkerThatIsKilledMidRequestLeavesOneOfEverything kills the worker with SIGKILL while a request is
// under way, at each change that it makes, and starts another.
func TestAWorkerThatIsKilledMidRequestLeavesOneOfEverything(t *testing.T) {
	for name, c := range map[string]struct {
		rule    fault.Rule
		channel bool
		step    publish.Step
	}{
		"the draft is kept, nothing is sent":     {fault.Rule{Method: "POST", Path: "/git/trees$", Kind: fault.HangBefore}, false, publish.Branch},
		"the branch is there, its answer is not": {fault.Rule{Method: "POST", Path: "/git/refs$", Kind: fault.HangAfter}, false, publish.Branch},
		"the pull request is open":               {fault.Rule{Method: "POST", Path: "/pulls$", Kind: fault.HangAfter}, false, publish.PullRequest},
		"the merge has landed":                   {fault.Rule{Method: "PUT", Path: "/merge$", Kind: fault.HangAfter}, false, publish.Merge},
		"merged, and not yet looked at again":    {fault.Rule{Method: "GET", Path: "/pulls/1$", Skip: 2, Kind: fault.HangBefore}, false, publish.Merge},
		"the branch is removed":                  {fault.Rule{Method: "DELETE", Kind: fault.HangAfter}, false, publish.Merge},
		"the post and the ping are out":          {fault.Rule{Method: "POST", Kind: fault.HangAfter}, true, publish.Syndicate},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			layers := []*fault.Layer{w.World.GitHubFaults}
			if c.channel {
				// Announcements go out side by side, so that a kill may catch both: here it always does. The
				// ping cannot be read back and is sent again, which is what it declares; the post is not.
				layers = []*fault.Layer{w.World.MastodonFaults, w.World.IndexNowFaults}
				w.repeatedPings = 1
			}
			for _, layer := range layers {
				layer.Add(c.rule)
			}
			w.begin()
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			for _, layer := range layers {
				if err := layer.Wait(ctx, 1); err != nil {
					t.Fatalf("the request was never made: %v", err)
				}
			}
			w.kill()
			w.work()
			rec := w.finish()
			w.oneOfEverything(rec)
			if !c.channel && !unclear(rec, c.step) {
				t.Errorf("nothing was unclear in %s:\n%s", c.step, rec.Markdown())
			}
		})
	}
}

// TestAnAnswerThatIsLostLeavesOneOfEverything loses answers without a kill, in every way that looks the
// same from here: the effect landed, or it did not.
func TestAnAnswerThatIsLostLeavesOneOfEverything(t *testing.T) {
	for name, c := range map[string]fault.Rule{
		"branch, reset after":       {Method: "POST", Path: "/git/refs$", Kind: fault.ResetAfter},
		"branch, reset before":      {Method: "POST", Path: "/git/refs$", Kind: fault.ResetBefore},
		"pull request, 502 after":   {Method: "POST", Path: "/pulls$", Kind: fault.StatusAfter, Status: 502},
		"pull request, empty":       {Method: "POST", Path: "/pulls$", Kind: fault.EmptyBody},
		"merge, 500 after":          {Method: "PUT", Path: "/merge$", Kind: fault.StatusAfter},
		"merge, 502 before":         {Method: "PUT", Path: "/merge$", Kind: fault.StatusBefore, Status: 502},
		"merge, lands late":         {Method: "PUT", Path: "/merge$", Kind: fault.LateEffect, Delay: 500 * time.Millisecond},
		"merge, no answer in time":  {Method: "PUT", Path: "/merge$", Kind: fault.HangAfter},
		"merge, limited":            {Method: "PUT", Path: "/merge$", Kind: fault.StatusBefore, Status: 429, RetryAfter: "2"},
		"tree, cut":                 {Method: "POST", Path: "/git/trees$", Kind: fault.CutBody},
		"branch removal, 500 after": {Method: "DELETE", Kind: fault.StatusAfter},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			w.World.GitHubFaults.Add(c)
			w.begin()
			w.oneOfEverything(w.finish())
			if hits := w.World.GitHubFaults.Hits(); len(hits) != 1 {
				t.Errorf("the fault did not happen: %v", hits)
			}
		})
	}
}
