package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"colophon/internal/sandbox/fault"
	"colophon/publish"
)

const (
	// heartbeats is how long Temporal believes that a silent worker is alive, as workflows/policies.go has it.
	heartbeats = 15 * time.Second
	// converged is how long a run may take to its end after a worker is back, under this package's policy.
	converged = heartbeats + 10*time.Second
)

// TestAWorkerThatIsKilledMidRequestLeavesOneOfEverything kills the worker with SIGKILL while a request is
// under way, at each change that it makes and while it reads, and starts another, which has to end the run soon.
func TestAWorkerThatIsKilledMidRequestLeavesOneOfEverything(t *testing.T) {
	github := func(w *world) []*fault.Layer { return []*fault.Layer{w.World.GitHubFaults} }
	site := func(w *world) []*fault.Layer { return []*fault.Layer{w.World.SiteFaults} }
	channels := func(w *world) []*fault.Layer {
		// Announcements go out side by side, so that a kill may catch both: here it always does. The
		// ping cannot be read back and is sent again, which is what it declares; the post is not.
		w.repeatedPings = 1
		return []*fault.Layer{w.World.MastodonFaults, w.World.IndexNowFaults}
	}
	for name, c := range map[string]struct {
		at    func(*world) []*fault.Layer
		step  publish.Step // that must have been unclear, if one must
		rules []fault.Rule // the worker dies in the last
	}{
		"the draft is kept, nothing is sent":     {github, publish.Branch, []fault.Rule{{Method: "POST", Path: "/git/trees$", Kind: fault.HangBefore}}},
		"the branch is there, its answer is not": {github, publish.Branch, []fault.Rule{{Method: "POST", Path: "/git/refs$", Kind: fault.HangAfter}}},
		"the pull request is open":               {github, publish.PullRequest, []fault.Rule{{Method: "POST", Path: "/pulls$", Kind: fault.HangAfter}}},
		"the merge has landed":                   {github, publish.Merge, []fault.Rule{{Method: "PUT", Path: "/merge$", Kind: fault.HangAfter}}},
		"merged, and not yet looked at again":    {github, publish.Merge, []fault.Rule{{Method: "GET", Path: "/pulls/1$", Skip: 2, Kind: fault.HangBefore}}},
		"the branch is removed":                  {github, publish.Merge, []fault.Rule{{Method: "DELETE", Kind: fault.HangAfter}}},
		"the post and the ping are out":          {channels, "", []fault.Rule{{Method: "POST", Kind: fault.HangAfter}}},
		"the repository is read":                 {github, "", []fault.Rule{{Method: "GET", Kind: fault.HangBefore}}},
		"an unclear merge is looked into": {github, publish.Merge, []fault.Rule{
			{Method: "PUT", Path: "/merge$", Kind: fault.ResetAfter}, {Method: "GET", Path: "/pulls/1$", Skip: 2, Kind: fault.HangBefore},
		}},
		"the site is looked at": {site, "", []fault.Rule{{Path: "^/posts/", Kind: fault.HangBefore}}},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			layers := c.at(w)
			for _, layer := range layers {
				for _, rule := range c.rules {
					layer.Add(rule)
				}
			}
			w.begin()
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			for _, layer := range layers {
				if err := layer.Wait(ctx, len(c.rules)); err != nil {
					t.Fatalf("the request was never made: %v", err)
				}
			}
			w.kill()
			w.work()
			back := time.Now()
			rec := w.finish()
			took := time.Since(back)
			fmt.Printf("recovery: %s converged in %.1f s (bound %.0f s)\n", name, took.Seconds(), converged.Seconds())
			if took > converged {
				t.Errorf("it took %s to the end, more than %s", took, converged)
			}
			w.oneOfEverything(rec)
			if c.step != "" && !rec.Unclear(c.step) {
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
