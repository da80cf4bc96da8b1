package github

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"colophon/internal/permit"
	"colophon/internal/sandbox"
	"colophon/internal/sandbox/fault"
	hub "colophon/internal/sandbox/github"
	"colophon/internal/wire"
	"colophon/publish"
	"colophon/publish/effecttest"
)

var draft = []byte("---\ntitle: Look\ndate: 2026-10-04\nslug: look\n---\nHello.\n")

func intent() publish.Intent {
	return publish.Intent{
		Key: "media-001:2026-10-04:look", Topic: "Looking", Slug: "look", Date: "2026-10-04", Repository: sandbox.Owner + "/" + sandbox.Repo,
		BaseBranch: "main", Revision: 1, Path: "posts/look.md", URL: "https://example.org/posts/look/",
	}
}

// bench is a repository in a fresh world, with an intent's plan.
type bench struct {
	*sandbox.World
	repo *Repository
	plan publish.Plan
}

func newBench(t *testing.T) *bench {
	t.Helper()
	w, err := sandbox.Start(sandbox.Options{Dir: filepath.Join(t.TempDir(), "blog.git")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	b := &bench{World: w}
	b.repo = b.connect(t, sandbox.GitHubToken)
	p := publish.Plan{Draft: "d", Title: "Look", Author: publish.Author{Name: "C", Email: "c@example.org", Date: intent().Date.Midnight()}}
	if b.plan, err = b.repo.Plan(context.Background(), intent(), p, draft); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) connect(t *testing.T, token string) *Repository {
	t.Helper()
	client := wire.New(wire.Options{Authorize: func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }})
	r, err := New(client, Options{API: b.GitHubPort.URL(), Repository: intent().Repository, MergeMethod: "merge"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// effects are all effects in order, each with how often it stands at the remote.
func (b *bench) effects(t *testing.T) []publish.Effect {
	var out []publish.Effect
	for _, s := range []publish.Step{publish.Branch, publish.PullRequest, publish.Merge, publish.Sweep} {
		out = append(out, b.connect(t, sandbox.GitHubToken).Effects(s, intent(), b.plan, draft)...)
	}
	return out
}

// do applies the first n effects.
func (b *bench) do(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		if _, err := b.effects(t)[i].Apply(permit.Grant(context.Background()), publish.Prior{}); err != nil {
			t.Fatalf("effect %d: %v", i, err)
		}
		if i == 3 {
			b.plan.PullRequest = 1
		}
	}
}

func TestEveryEffectKeepsTheContract(t *testing.T) {
	names := []string{"tree", "commit", "branch", "pull request", "merge", "branch removal", "sweep"}
	for i, name := range names {
		t.Run(name, func(t *testing.T) {
			effecttest.Run(t, func(t *testing.T) effecttest.Subject {
				b := newBench(t)
				b.do(t, i)
				if name == "sweep" { // a request to create the branch arrives after its removal
					if err := b.GitHub.Branch(b.plan.Branch, string(b.plan.Commit)); err != nil {
						t.Fatal(err)
					}
				}
				return effecttest.Subject{
					Effect: func(t *testing.T) publish.Effect { return b.effects(t)[i] },
					Count:  func() int { return b.stands(i) },
					Fault: func(kind string) {
						b.GitHubFaults.Add(fault.Rule{Method: []string{"POST", "POST", "POST", "POST", "PUT", "DELETE", "DELETE"}[i], Kind: fault.Kind(kind)})
					},
					Bodiless: name == "branch removal" || name == "sweep",
					Refuse: func(r bool) {
						if r {
							b.GitHubPort.Refuse()
						} else if err := b.GitHubPort.Accept(); err != nil {
							t.Fatal(err)
						}
					},
				}
			})
		})
	}
}

// stands counts an effect at the remote.
func (b *bench) stands(i int) int {
	c := b.GitHub.Counts().Mutations
	switch i {
	case 0:
		return c["tree"]
	case 1:
		return c["commit"]
	case 2:
		return len(b.GitHub.Branches())
	case 3:
		return c["pull_create"]
	case 4:
		return c["merge"]
	case 5:
		return c["ref_delete"]
	default:
		return c["ref_delete"] - 1
	}
}

func TestThePlannedCommitIsWhatReachesTheBase(t *testing.T) {
	b := newBench(t)
	b.do(t, 6)
	plain, merges := b.GitHub.History()
	if !slices.Contains(plain, string(b.plan.Commit)) || len(plain) != 1 || len(merges) != 1 || len(b.GitHub.Branches()) != 0 {
		t.Errorf("commits %v, merges %v, branches %v; planned %s", plain, merges, b.GitHub.Branches(), b.plan.Commit)
	}
}

// TestRefusalsAreReadByTheirTables puts the repository into each state and looks.
func TestRefusalsAreReadByTheirTables(t *testing.T) {
	ctx := context.Background()
	look := func(b *bench, i int, prior publish.Prior) publish.Finding {
		t.Helper()
		f, err := b.effects(t)[i].Find(ctx, prior)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	t.Run("branch at another commit", func(t *testing.T) { // decap-cms#3065
		b := newBench(t)
		b.do(t, 3)
		b.plan.Commit = b.plan.Parent
		if f := look(b, 2, publish.Prior{}); f.Presence != publish.Foreign || f.Condition != "branch_at_other_commit" {
			t.Errorf("%+v", f)
		}
	})
	t.Run("existing ref says exists", func(t *testing.T) { // goreleaser#4471
		b := newBench(t)
		b.do(t, 3)
		_, err := b.effects(t)[2].Apply(permit.Grant(ctx), publish.Prior{})
		if got := publish.AsTrouble(err); got.Kind != publish.Unknown || got.Condition != "ref_exists" {
			t.Errorf("%+v", got)
		}
	})
	t.Run("pull request of someone else", func(t *testing.T) { // renovate#5188
		b := newBench(t)
		b.do(t, 3)
		other := intent()
		other.Topic = "Something else"
		e := b.repo.Effects(publish.PullRequest, other, b.plan, draft)[0]
		if _, err := e.Apply(permit.Grant(ctx), publish.Prior{}); err != nil {
			t.Fatal(err)
		}
		if f := look(b, 3, publish.Prior{}); f.Presence != publish.Foreign || f.Condition != "pull_request_of_someone_else" {
			t.Errorf("%+v", f)
		}
		_, err := b.repo.Plan(ctx, intent(), publish.Plan{Author: b.plan.Author}, draft)
		if got := publish.AsTrouble(err); got.Kind != publish.Halted || got.Condition != "pull_request_of_someone_else" {
			t.Errorf("the plan was made all the same: %v", err)
		}
	})
	t.Run("a second pull request is found, not made", func(t *testing.T) { // create-pull-request#80
		b := newBench(t)
		b.do(t, 4)
		_, err := b.effects(t)[3].Apply(permit.Grant(ctx), publish.Prior{})
		if got := publish.AsTrouble(err); got.Kind != publish.Unknown || got.Condition != "pull_request_exists" {
			t.Errorf("%+v", got)
		}
		if f := look(b, 3, publish.Prior{Attempts: 1}); f.Presence != publish.Present || f.Receipt.ID != "1" {
			t.Errorf("%+v", f)
		}
	})
	t.Run("merged, yet not mergeable", func(t *testing.T) { // test-infra#16643
		b := newBench(t)
		b.do(t, 5)
		_, err := b.effects(t)[4].Apply(permit.Grant(ctx), publish.Prior{})
		if got := publish.AsTrouble(err); got.Kind != publish.Unknown || got.Condition != "not_mergeable" {
			t.Errorf("%+v", got)
		}
		if f := look(b, 4, publish.Prior{Attempts: 1}); f.Presence != publish.Present || !f.Receipt.SHA.Valid() {
			t.Errorf("%+v", f)
		}
	})
	t.Run("head changed", func(t *testing.T) {
		b := newBench(t)
		b.do(t, 4)
		body := strings.NewReader(`{"force":true,"sha":"` + string(b.plan.Parent) + `"}`)
		req, err := http.NewRequest("PATCH", b.GitHubPort.URL()+"/repos/"+intent().Repository+"/git/refs/heads/"+b.plan.Branch, body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+sandbox.GitHubToken)
		resp, err := http.DefaultClient.Do(req)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%v, %v", resp, err)
		}
		_ = resp.Body.Close()
		if f := look(b, 4, publish.Prior{}); f.Presence != publish.Foreign || f.Condition != "head_changed" {
			t.Errorf("%+v", f)
		}
		_, err = b.effects(t)[4].Apply(permit.Grant(ctx), publish.Prior{})
		if got := publish.AsTrouble(err); got.Kind != publish.Unknown || got.Status != http.StatusConflict || b.GitHub.Counts().Merges != 0 {
			t.Errorf("a merge of another head: %+v", got)
		}
	})
	t.Run("path taken", func(t *testing.T) {
		b := newBench(t)
		b.do(t, 6)
		_, err := b.repo.Plan(ctx, intent(), publish.Plan{Author: b.plan.Author}, draft)
		if got := publish.AsTrouble(err); got.Kind != publish.Halted || got.Condition != "path_taken" {
			t.Errorf("%v", err)
		}
	})
	t.Run("bad token", func(t *testing.T) {
		b := newBench(t)
		_, err := b.connect(t, "wrong").Plan(ctx, intent(), publish.Plan{Author: b.plan.Author}, draft)
		got := publish.AsTrouble(err)
		if got.Kind != publish.Halted || got.Condition != "bad_credentials" || strings.Contains(err.Error(), "wrong") {
			t.Errorf("%v", err)
		}
	})
}

func TestLimitsAndMovesAreNotTakenForUnknown(t *testing.T) {
	for name, c := range map[string]struct {
		rule fault.Rule
		kind publish.Kind
		cond publish.Condition
	}{
		"429":                 {fault.Rule{Kind: fault.StatusBefore, Status: 429, RetryAfter: "7"}, publish.Deferred, "rate_limited"},
		"403 and retry-after": {fault.Rule{Kind: fault.StatusBefore, Status: 403, RetryAfter: "7"}, publish.Deferred, "rate_limited"},
		"moved":               {fault.Rule{Kind: fault.Redirect}, publish.Halted, "repository_moved"},
		"moved for good":      {fault.Rule{Kind: fault.Redirect, Status: 301}, publish.Halted, "repository_moved"},
		"502":                 {fault.Rule{Kind: fault.StatusBefore, Status: 502}, publish.Unknown, "server_error"},
	} {
		b := newBench(t)
		c.rule.Method = "POST"
		b.GitHubFaults.Add(c.rule)
		_, err := b.effects(t)[0].Apply(permit.Grant(context.Background()), publish.Prior{})
		got := publish.AsTrouble(err)
		if got.Kind != c.kind || got.Condition != c.cond || c.kind == publish.Deferred && got.After.Seconds() != 7 {
			t.Errorf("%s: %s %s after %s: %v", name, got.Kind, got.Condition, got.After, err)
		}
		if n := b.GitHub.Counts().Mutations["tree"]; n != 0 {
			t.Errorf("%s: %d trees", name, n)
		}
	}
}

// TestAMergeThatLandedUnderAStaleRecordIsNotRepeated: the base branch has the article, the pull request is
// open, and GitHub would merge it again (kodiak#397, sutando#2865).
func TestAMergeThatLandedUnderAStaleRecordIsNotRepeated(t *testing.T) {
	ctx := context.Background()
	b := newBench(t)
	b.do(t, 4)
	b.GitHub.Set(func(s *hub.Settings) { s.MergeUnrecorded = 1 })
	e := b.effects(t)[4]
	_, err := e.Apply(permit.Grant(ctx), publish.Prior{})
	if got := publish.AsTrouble(err); got.Kind != publish.Unknown {
		t.Fatalf("%+v", got)
	}
	_, merges := b.GitHub.History()
	f, err := e.Find(ctx, publish.Prior{State: publish.Unconfirmed, Attempts: 1})
	if err != nil || f.Presence != publish.Present || f.Condition != "merged_record_stale" || !f.Receipt.SHA.Valid() || len(merges) != 1 {
		t.Errorf("%+v, %v; merges %v", f, err, merges)
	}
	other := intent()
	other.Topic = "Another intent, whose article is not there"
	o := b.repo.Effects(publish.Merge, other, b.plan, draft)[0]
	if f, err := o.Find(ctx, publish.Prior{State: publish.Unconfirmed, Attempts: 1}); err == nil && f.Presence == publish.Present {
		t.Errorf("someone else's merge is taken for ours: %+v", f)
	}
}

var errAny = errors.New("any")

func TestWhatIsOnNoListProvesNothing(t *testing.T) {
	if got := publish.AsTrouble(sent("x", errAny)); got.Kind != publish.Unknown {
		t.Errorf("%+v", got)
	}
}
