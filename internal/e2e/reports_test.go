package e2e

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"colophon/internal/permit"
	"colophon/internal/sandbox/fault"
	hub "colophon/internal/sandbox/github"
	"colophon/publish"
)

// report is a fault that somebody met with another program, and reported in public.
type report struct {
	what string
	// arrange brings the situation about; check looks at what came of it, beyond one of everything.
	arrange func(*testing.T, *simulation)
	check   func(*testing.T, *simulation, publish.Record)
	asks    []publish.Condition
	setup   setup
	all     bool // all articles, not the first alone
}

// planned is what a run will make: the plan is the same whoever computes it.
func planned(t *testing.T, s *simulation) (publish.Intent, publish.Plan, []byte) {
	t.Helper()
	in := s.intent(key)
	draft, err := s.steps.Drafts.Draft(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	author := s.steps.Author
	author.Date = in.Date.Midnight()
	// The title is part of the commit's message: it comes from the draft.
	for line := range strings.Lines(string(draft)) {
		if title, ok := strings.CutPrefix(line, "title: "); ok {
			p, err := s.steps.Repository.Plan(context.Background(), in, publish.Plan{Title: strings.Trim(strings.TrimSpace(title), `"`), Author: author}, draft)
			if err != nil {
				t.Fatal(err)
			}
			return in, p, draft
		}
	}
	t.Fatal("the draft has no title")
	return in, publish.Plan{}, nil
}

// earlier makes the first changes of a step, as a run did of which nothing is left.
func earlier(t *testing.T, s *simulation, step publish.Step) publish.Plan {
	t.Helper()
	in, plan, draft := planned(t, s)
	for _, e := range s.steps.Repository.Effects(step, in, plan, draft) {
		if _, err := e.Apply(permit.Grant(context.Background()), publish.Prior{}); err != nil {
			t.Fatal(err)
		}
	}
	return plan
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// took says which condition or detail a step met on its way.
func took(rec publish.Record, step publish.Step, what string) bool {
	for _, l := range rec.Steps {
		for _, turn := range l.Turns {
			if l.Step == step && (string(turn.Condition) == what || strings.Contains(turn.Detail, what)) {
				return true
			}
		}
	}
	return false
}

func mutations(s *simulation, kind string) int { return s.world.GitHub.Counts().Mutations[kind] }

// requests counts those that arrived at GitHub, whatever came of them.
func requests(s *simulation, method, part string) (n int) {
	for _, r := range s.world.GitHubFaults.Requests() {
		if r.Method == method && strings.Contains(r.Path, part) {
			n++
		}
	}
	return n
}

var reports = map[string]report{
	"kodiak#397": {
		what: "500 on merge, and the same pull request is merged again and again",
		arrange: func(_ *testing.T, s *simulation) {
			s.world.GitHub.Set(func(g *hub.Settings) { g.MergeUnrecorded = 1 })
			s.world.GitHubFaults.Add(fault.Rule{Method: "PUT", Kind: fault.StatusAfter, Times: 3})
		},
		check: func(t *testing.T, s *simulation, _ publish.Record) {
			if n := requests(s, "PUT", "/merge"); n != 1 {
				t.Errorf("%d requests to merge: the base was not looked at before the second", n)
			}
		},
	},
	"sutando#2865": {
		what:    "502, the merge landed, the pull request stays open",
		arrange: func(_ *testing.T, s *simulation) { s.world.GitHub.Set(func(g *hub.Settings) { g.MergeUnrecorded = 1 }) },
		check: func(t *testing.T, _ *simulation, rec publish.Record) {
			if !took(rec, publish.Merge, "the pull request still says open") {
				t.Errorf("the record does not say that the pull request's is stale:\n%s", rec.Markdown())
			}
		},
	},
	"test-infra#16643": {
		what:    "it is merged, and answered as not mergeable",
		arrange: func(_ *testing.T, s *simulation) { s.world.GitHub.Set(func(g *hub.Settings) { g.MergeDenied = 1 }) },
		check: func(t *testing.T, s *simulation, _ publish.Record) {
			if n := requests(s, "PUT", "/merge"); n != 1 {
				t.Errorf("%d requests to merge", n)
			}
		},
	},
	"decap-cms#3065": {
		what:    "the branch exists, at our commit: it is adopted",
		arrange: func(t *testing.T, s *simulation) { earlier(t, s, publish.Branch) },
		check: func(t *testing.T, s *simulation, _ publish.Record) {
			if n := requests(s, "POST", "/git/refs"); n != 1 {
				t.Errorf("%d requests to create the branch, besides the earlier run's", n-1)
			}
		},
	},
	"decap-cms#3065, elsewhere": {
		what: "the branch exists, at another commit: a named conflict, which is not overwritten",
		arrange: func(t *testing.T, s *simulation) {
			in, plan, _ := planned(t, s)
			must(t, s.world.GitHub.Branch(in.Branch(), string(plan.Parent)))
			s.people.mend = func() { must(t, s.world.GitHub.Branch(in.Branch(), "")) }
		},
		asks: []publish.Condition{"branch_at_other_commit"},
	},
	"multi-gitter#206": {
		what:    "the branch was created, the pull request lost: the next run goes on from the branch",
		arrange: func(t *testing.T, s *simulation) { earlier(t, s, publish.Branch) },
		check: func(t *testing.T, s *simulation, _ publish.Record) {
			if mutations(s, "ref_create") != 1 || mutations(s, "pull_create") != 1 {
				t.Errorf("%v", s.world.GitHub.Counts().Mutations)
			}
		},
	},
	"goreleaser#4471": {
		what: "the read says absent, the creation says it exists",
		arrange: func(t *testing.T, s *simulation) {
			earlier(t, s, publish.Branch)
			s.world.GitHubFaults.Add(fault.Rule{Method: "GET", Path: "/git/ref/heads/colophon", Kind: fault.Stale})
		},
		check: func(t *testing.T, s *simulation, rec publish.Record) {
			if mutations(s, "ref_create") != 1 || !took(rec, publish.Branch, "ref_exists") {
				t.Errorf("%v\n%s", s.world.GitHub.Counts().Mutations, rec.Markdown())
			}
		},
	},
	"create-pull-request#80": {
		what: "answers are lost, and branches with a suffix and second pull requests are made",
		arrange: func(_ *testing.T, s *simulation) {
			for _, path := range []string{"/git/refs$", "/pulls$"} {
				s.world.GitHubFaults.Add(fault.Rule{Method: "POST", Path: path, Kind: fault.ResetAfter})
				s.world.GitHubFaults.Add(fault.Rule{Method: "GET", Path: "/pulls$", Kind: fault.Stale, Status: 200, Body: "[]", Times: 2})
			}
		},
		check: func(t *testing.T, s *simulation, rec publish.Record) {
			pulls := s.world.GitHub.Pulls()
			if mutations(s, "ref_create") != 1 || len(pulls) != 1 || pulls[0].Head != rec.Intent.Branch() {
				t.Errorf("%v, %v", s.world.GitHub.Counts().Mutations, pulls)
			}
		},
	},
	"renovate#5188": {
		what: "the look-up finds somebody else's pull request",
		arrange: func(t *testing.T, s *simulation) {
			in, plan, _ := planned(t, s)
			must(t, s.world.GitHub.Branch("elsewhere", string(plan.Parent)))
			_, err := s.world.GitHub.Open("elsewhere", in.Marker()) // with our marker, on another branch
			must(t, err)
			must(t, s.world.GitHub.Branch(in.Branch(), string(plan.Parent)))
			_, err = s.world.GitHub.Open(in.Branch(), "No marker at all") // on our branch, without the marker
			must(t, err)
			s.people.mend = func() {
				s.world.GitHub.Forget()
				must(t, s.world.GitHub.Branch(in.Branch(), ""))
				must(t, s.world.GitHub.Branch("elsewhere", ""))
			}
		},
		asks: []publish.Condition{"pull_request_of_someone_else"},
	},
	"nixpkgs-merge-bot#179": {
		what:    "405, the base was modified: the same request again",
		arrange: func(_ *testing.T, s *simulation) { s.world.GitHub.Set(func(g *hub.Settings) { g.BaseModified = 1 }) },
		check: func(t *testing.T, s *simulation, _ publish.Record) {
			if n := requests(s, "PUT", "/merge"); n != 2 {
				t.Errorf("%d requests to merge", n)
			}
		},
	},
	"strands-labs/robots#2538": {
		what:    "the pull request's head lags behind the branch, 409",
		arrange: func(_ *testing.T, s *simulation) { s.world.GitHub.Set(func(g *hub.Settings) { g.HeadLag = 3 }) },
		check: func(t *testing.T, s *simulation, rec publish.Record) {
			if plain, _ := s.world.GitHub.History(); len(plain) != 1 || plain[0] != string(rec.Plan.Commit) || mutations(s, "commit") != 1 {
				t.Errorf("another commit was made: %v", plain)
			}
		},
	},
	"mcp/servers#227": {
		what:    "merge_commit_sha is null after the creation, and that of a test merge later",
		arrange: func(_ *testing.T, s *simulation) { s.world.GitHub.Set(func(g *hub.Settings) { g.Nulls = 2 }) },
		check: func(t *testing.T, s *simulation, rec publish.Record) {
			_, merges := s.world.GitHub.History()
			for _, l := range rec.Steps {
				for _, r := range l.Receipts {
					if r.What == "merge" && (len(merges) != 1 || string(r.Receipt.SHA) != merges[0]) {
						t.Errorf("the receipt names %s, merged is %v", r.Receipt.SHA, merges)
					}
				}
			}
		},
	},
	"go-github#1895": {
		what:    "reading a branch follows a rename to another branch",
		arrange: func(*testing.T, *simulation) {},
		check: func(t *testing.T, s *simulation, _ publish.Record) {
			if n := requests(s, "GET", "/branches/"); n != 0 || requests(s, "GET", "/git/ref/heads/") == 0 {
				t.Errorf("%d reads of branches", n)
			}
		},
	},
	"kargo#6490": {
		what: "every 405 is tried again for ever",
		arrange: func(_ *testing.T, s *simulation) {
			s.world.GitHub.Set(func(g *hub.Settings) { g.Methods = []string{"squash"} })
			s.people.mend = func() { s.world.GitHub.Set(func(g *hub.Settings) { g.Methods = nil }) }
		},
		check: func(t *testing.T, s *simulation, _ publish.Record) {
			if n := requests(s, "PUT", "/merge"); n != 2 {
				t.Errorf("%d requests: one before a person is asked, one after", n)
			}
		},
		asks: []publish.Condition{"merge_method_not_allowed"},
	},
	"code-dot-org#19491": {
		what:    "mergeable is null, null, true",
		arrange: func(_ *testing.T, s *simulation) { s.world.GitHub.Set(func(g *hub.Settings) { g.Nulls = 2 }) },
		check: func(t *testing.T, s *simulation, rec publish.Record) {
			if n := requests(s, "PUT", "/merge"); n != 1 || !took(rec, publish.Merge, "mergeability_unknown") {
				t.Errorf("%d requests to merge\n%s", n, rec.Markdown())
			}
		},
	},
	"tend#280": {
		what:  "two runs list, see nothing, and both create",
		setup: setup{doubles: []double{{publish.PullRequest, 1}}},
		arrange: func(_ *testing.T, s *simulation) {
			s.ledger.meet = publish.PullRequestName
		},
		check: func(t *testing.T, s *simulation, _ publish.Record) {
			if n := requests(s, "POST", "/pulls"); n != 1 {
				t.Errorf("%d requests to open the pull request", n)
			}
		},
	},
}

// TestReports brings about what was reported of other programs, each under the name of its report; it ends with one of
// everything.
func TestReports(t *testing.T) {
	cases := maps.Clone(reports)
	maps.Copy(cases, channelReports)
	for name, r := range cases {
		t.Run(name+": "+r.what, func(t *testing.T) {
			t.Parallel()
			s := simulate(t, r.setup)
			r.arrange(t, s)
			all, ticks := s.articles(0)
			if !r.all {
				all, ticks = all[:1], ticks[:1]
			}
			runs, err := s.run(ticks...)
			for _, f := range s.balance(all, runs, nil, err).faults {
				t.Error(f)
			}
			if got := s.people.conditions(); !slices.Equal(got, r.asks) {
				t.Errorf("a person was asked about %v, want %v", got, r.asks)
			}
			if r.check != nil && len(runs) > 0 {
				r.check(t, s, runs[0].Record)
			}
		})
	}
}
