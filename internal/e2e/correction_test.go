package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"colophon/internal/sandbox/fault"
	"colophon/publish"
)

// corrected is the intent's next revision, with a draft of its own.
func (s *simulation) corrected(in publish.Intent) publish.Intent {
	s.t.Helper()
	raw, err := os.ReadFile(in.Draft)
	if err != nil {
		s.t.Fatal(err)
	}
	in.Revision++
	in.Draft = filepath.Join(filepath.Dir(in.Draft), fmt.Sprintf("corrected-%d.md", in.Revision))
	if err := os.WriteFile(in.Draft, append(raw, fmt.Appendf(nil, "\nCorrection %d: the second look comes a minute after the first.\n", in.Revision)...), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return in
}

// TestACorrectionUpdatesTheSamePath corrects an article that has been announced everywhere: another commit on the same
// path, the page live with its new text; DEV's article updated, the URL pinged again, and nothing posted anywhere else.
// The first answer to each change of the correction is lost.
func TestACorrectionUpdatesTheSamePath(t *testing.T) {
	for name, lose := range map[string]fault.Rule{
		"undisturbed":        {},
		"no answer comes":    {Kind: fault.ResetAfter},
		"every answer a 502": {Kind: fault.StatusAfter, Status: 502},
	} {
		t.Run(name, func(t *testing.T) {
			s := simulate(t, setup{})
			first := s.everywhere()
			if lose.Kind != "" {
				lost := map[publish.OperationKey]bool{}
				s.ledger.around = func(op publish.Operation) func() {
					if op.Revision == 2 && !lost[op.Key()] {
						lost[op.Key()] = true
						r := lose
						if r.Method = map[string]string{"merge": "PUT", publish.Update: "PUT", "branch removal": "DELETE", "sweep": "DELETE"}[op.What]; r.Method == "" {
							r.Method = "POST"
						}
						s.layer(server(op)).Add(r)
					}
					return nil
				}
			}
			second := s.corrected(first)
			runs, err := s.run(tick{Intent: first}, tick{After: 24 * time.Hour, Intent: second})
			must(t, err)
			for n, r := range runs {
				if r.Err != "" || r.Record.Outcome != publish.Passed || r.Record.Intent.Revision != n+1 {
					t.Fatalf("run %d ended %q, %q\n%s", n+1, r.Record.Outcome, r.Err, r.Record.Markdown())
				}
			}
			a := s.world.Audit()
			if a.Articles != 1 || a.Published != 1 || a.Commits != 2 || a.PullRequests != 2 || a.Merges != 2 || a.OpenPulls != 0 || a.Branches != 0 || a.Posts != 4 {
				t.Errorf("%+v", a)
			}
			if pings := len(s.world.IndexNow.Pings()); pings < 2 || lose.Kind == "" && pings != 2 {
				t.Errorf("%d pings", pings)
			}
			if arts := s.world.DevTo.Articles(); len(arts) != 1 || !strings.Contains(arts[0].Body, "Correction 2") || s.world.DevTo.Updates() != 1 {
				t.Errorf("DEV has %d articles, updated %d times: %+v", len(arts), s.world.DevTo.Updates(), arts)
			}
			if !strings.Contains(string(published(t, s, first.Path)), "Correction 2") {
				t.Errorf("%s does not hold the correction", first.Path)
			}
			for _, d := range runs[1].Record.Deliveries {
				again := d.Channel == "devto" || d.Channel == "indexnow"
				if d.Outcome != publish.Passed || again == strings.Contains(d.Detail, "not announced again") {
					t.Errorf("%s: %+v", d.Channel, d)
				}
			}
			if asked := s.people.conditions(); len(asked) != 0 {
				t.Errorf("a person was asked about %v", asked)
			}
		})
	}
}

// TestWhatIsNotPublishedIsNotCorrected: a revision follows the one before it, and changes something.
func TestWhatIsNotPublishedIsNotCorrected(t *testing.T) {
	s := simulate(t, setup{})
	first := s.intent(key)
	second := s.corrected(first)
	third := s.corrected(second)
	for name, c := range map[string]struct {
		ticks []tick
		says  string
	}{
		"nothing is published":       {[]tick{{Intent: second}}, "publish revision 1 first"},
		"one revision is left out":   {[]tick{{Intent: first}, {After: time.Hour, Intent: third}}, "revision 2, which it corrects, is not published"},
		"the first is still running": {[]tick{{Intent: first}, {After: time.Millisecond, Intent: second}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := simulate(t, setup{})
			for n := range c.ticks {
				own := s.intent(key)
				own.Revision, own.Draft = c.ticks[n].Intent.Revision, c.ticks[n].Intent.Draft
				c.ticks[n].Intent = own
			}
			runs, err := s.run(c.ticks...)
			must(t, err)
			last := runs[len(runs)-1]
			if c.says != "" && !strings.Contains(last.Err, c.says) || c.says == "" && !last.Joined {
				t.Errorf("it ended %q, joined %v", last.Err, last.Joined)
			}
			if a := s.world.Audit(); a.Commits != len(runs)-1 {
				t.Errorf("%+v", a)
			}
		})
	}
}

// TestACorrectionChangesSomethingThatIsThere: the plan of any other is refused by name, before anything is sent.
func TestACorrectionChangesSomethingThatIsThere(t *testing.T) {
	s := simulate(t, setup{})
	in := s.intent(key)
	in.Channels = nil
	runs, err := s.run(tick{Intent: in})
	must(t, err)
	plan, draft := runs[0].Record.Plan, published(t, s, in.Path)
	in.Revision = 2
	elsewhere := in
	elsewhere.Path = "posts/elsewhere.md"
	for name, c := range map[string]struct {
		in    publish.Intent
		draft []byte
	}{
		"the same text":     {in, draft},
		"nothing is there":  {elsewhere, append(draft, "more"...)},
		"a folder is there": {func() publish.Intent { f := in; f.Path = "posts"; return f }(), append(draft, "more"...)},
	} {
		_, err := s.steps.Repository.Plan(context.Background(), c.in, publish.Plan{Title: plan.Title, Author: plan.Author}, c.draft)
		if tr := publish.AsTrouble(err); tr.Kind != publish.Halted || tr.Condition != "nothing_to_correct" || tr.Next == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := s.steps.Repository.Plan(context.Background(), in, publish.Plan{Title: plan.Title, Author: plan.Author}, append(draft, "more"...)); err != nil {
		t.Error(err)
	}
}

// published is a file on the base branch.
func published(t *testing.T, s *simulation, path string) []byte {
	t.Helper()
	_, files, err := s.world.GitHub.Tree("main")
	must(t, err)
	return files[path]
}
