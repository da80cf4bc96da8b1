package e2e

import (
	"context"
	"testing"
	"time"

	"colophon/internal/sandbox/fault"
	"colophon/publish"
)

// TestAnEffectThatLandsHalfAMinuteLateIsTheOnlyOne resets a request's connection and lets its effect land thirty
// seconds later, on the real server and with the policy that is used where none is configured.
func TestAnEffectThatLandsHalfAMinuteLateIsTheOnlyOne(t *testing.T) {
	const late = 30 * time.Second
	for name, c := range map[string]struct {
		rule fault.Rule
		step publish.Step
	}{
		"the branch":       {fault.Rule{Method: "POST", Path: "/git/refs$"}, publish.Branch},
		"the pull request": {fault.Rule{Method: "POST", Path: "/pulls$"}, publish.PullRequest},
		"the merge":        {fault.Rule{Method: "PUT"}, publish.Merge},
		"the post":         {fault.Rule{Method: "POST"}, publish.Syndicate},
	} {
		t.Run(name, func(t *testing.T) {
			w := startPolicy(t, "{quiet_period: 60s, look_gap: 15s, stray_delay: 1s}")
			c.rule.Kind, c.rule.Delay = fault.LateEffect, late
			layer := w.World.GitHubFaults
			if c.step == publish.Syndicate {
				layer = w.World.MastodonFaults
			}
			layer.Add(c.rule)
			w.begin()
			ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
			defer cancel()
			if err := layer.Wait(ctx, 1); err != nil {
				t.Fatalf("the request was never made: %v", err)
			}
			begun := time.Now()
			rec := w.finish()
			w.oneOfEverything(rec)
			if c.step != publish.Syndicate && !rec.Unclear(c.step) || time.Since(begun) < late {
				t.Errorf("it ended after %s:\n%s", time.Since(begun), rec.Markdown())
			}
		})
	}
}

// TestChangesToOneRepositoryAreApart publishes three articles at once, by two workers, and measures at the
// repository that no change comes sooner after another than configured.
func TestChangesToOneRepositoryAreApart(t *testing.T) {
	const gap = 300 * time.Millisecond
	w := startWith(t, true)
	w.kill()
	w.pace(gap)
	w.work()
	second := &world{Env: w.Env, t: t, log: w.log, channels: w.channels}
	second.work()
	t.Cleanup(second.kill)
	var keys []publish.Key
	for _, e := range w.Calendar.Entries {
		keys = append(keys, e.Key)
		if code, out, errOut := w.starter("publish", string(e.Key)); code != 0 {
			t.Fatalf("publish: %d %s%s", code, out, errOut)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for _, k := range keys {
		var rec publish.Record
		if err := w.Client.GetWorkflow(ctx, string(k), "").Get(ctx, &rec); err != nil || rec.Outcome != publish.Passed {
			t.Fatalf("%s: %s, %v", k, rec.Outcome, err)
		}
	}
	arrivals := w.World.GitHubFaults.Arrivals()
	if len(arrivals) != 6*len(keys) {
		t.Errorf("%d changes of %d articles", len(arrivals), len(keys))
	}
	for n := 1; n < len(arrivals); n++ {
		if d := arrivals[n].Sub(arrivals[n-1]); d < gap {
			t.Errorf("change %d came %s after the one before", n, d)
		}
	}
	if a := w.World.Audit(); a.Merges != 3 || a.Posts != 3 || a.Duplicates != 0 {
		t.Errorf("%+v", a)
	}
}
