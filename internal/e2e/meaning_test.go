package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"colophon/publish"
)

// TestADraftThatSaysItAgainWaitsForAPerson: an article of the repository says what the draft says, under another name,
// and nothing else shows it. Nothing is changed before somebody has decided; a correction, and a series, are not stopped.
func TestADraftThatSaysItAgainWaitsForAPerson(t *testing.T) {
	raw, err := os.ReadFile("../../examples/drafts/idempotency.md")
	must(t, err)
	again := strings.NewReplacer("slug: idempotency", "slug: say-it-once", "title: ", "title: Once more, ").Replace(string(raw))
	if strings.Count(again, "say-it-once") != 1 {
		t.Fatalf("the example has another front matter: %.200s", raw)
	}
	inSeries := func(s string) string { return strings.Replace(s, "slug: ", "series: basics\nslug: ", 1) }
	for name, c := range map[string]struct {
		there string
		draft string // instead of the example
		asks  []publish.Condition
	}{
		"nothing like it": {"---\ntitle: The harbour\nslug: harbour\n---\n\nThe harbour was quiet on the morning after the storm.\n", "", nil},
		"the same again":  {again, "", []publish.Condition{"says_it_again"}},
		"one series":      {inSeries(again), inSeries(string(raw)), nil},
		"the same slug":   {"---\ntitle: The harbour\nslug: Idempotency\n---\n\nThe harbour was quiet on the morning after the storm.\n", "", []publish.Condition{"slug_taken"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := simulate(t, setup{seed: map[string]string{"posts/there.md": c.there}})
			in := s.intent(key)
			if c.draft != "" {
				must(t, os.WriteFile(in.Draft, []byte(c.draft), 0o600))
			}
			s.people.mend = func() {
				if n := s.world.GitHub.Counts().Arrived; n != 0 {
					t.Errorf("%d changes were made before anybody decided", n)
				}
				if slices.Contains(c.asks, "slug_taken") {
					must(t, s.world.GitHub.Remove("posts/there.md"))
				}
			}
			runs, err := s.run(tick{Intent: in})
			must(t, err)
			if got := s.people.conditions(); !slices.Equal(got, c.asks) {
				t.Errorf("a person was asked about %v, want %v", got, c.asks)
			}
			rec := runs[0].Record
			if rec.Outcome != publish.Passed || s.world.GitHub.Counts().Merges != 1 {
				t.Fatalf("%s %s\n%s", rec.Outcome, runs[0].Err, rec.Markdown())
			}
			if c.asks == nil {
				return
			}
			told := false
			for _, l := range rec.Steps {
				for _, turn := range l.Turns {
					told = told || l.Step == publish.Validate && turn.By == "Ada"
				}
			}
			if !told || c.asks[0] == "says_it_again" && !strings.Contains(fmt.Sprint(rec.Steps), "posts/there.md") {
				t.Errorf("the record does not say who decided what on which evidence:\n%s", rec.Markdown())
			}
		})
	}
}

// TestACorrectionIsNotLikeItself: the article that is corrected is not what its correction is compared with.
func TestACorrectionIsNotLikeItself(t *testing.T) {
	s := simulate(t, setup{})
	first := s.intent(key)
	first.Channels = nil
	runs, err := s.run(tick{Intent: first}, tick{After: time.Hour, Intent: s.corrected(first)})
	must(t, err)
	if len(s.people.conditions()) != 0 || runs[1].Record.Outcome != publish.Passed {
		t.Errorf("%v\n%s", s.people.conditions(), runs[1].Record.Markdown())
	}
}

// TestWhatProductionServesAlreadyIsNotOverwritten: a page is at the article's URL that the repository knows nothing of.
func TestWhatProductionServesAlreadyIsNotOverwritten(t *testing.T) {
	raw, err := os.ReadFile("../../examples/drafts/idempotency.md")
	must(t, err)
	for name, c := range map[string]struct {
		page string
		asks publish.Condition
	}{
		"another article": {"---\ntitle: The harbour\nslug: idempotency\ndate: 2026-10-01\n---\n\nThe harbour was quiet on the morning after the storm.\n", "url_taken"},
		"the article":     {string(raw), "already_live"},
	} {
		t.Run(name, func(t *testing.T) {
			s := simulate(t, setup{})
			in := s.intent(key)
			s.world.Site.Deploy(map[string][]byte{in.Path: []byte(c.page)})
			s.people.mend = func() {
				if n := s.world.GitHub.Counts().Arrived; n != 0 {
					t.Errorf("%d changes were made before anybody decided", n)
				}
			}
			runs, err := s.run(tick{Intent: in})
			must(t, err)
			if got := s.people.conditions(); !slices.Equal(got, []publish.Condition{c.asks}) || runs[0].Record.Outcome != publish.Passed {
				t.Errorf("a person was asked about %v, want %s\n%s", got, c.asks, runs[0].Record.Markdown())
			}
		})
	}
}

// TestThePageIsNotAskedForBeforeItIsPublished: a cache would keep that it is not there.
func TestThePageIsNotAskedForBeforeItIsPublished(t *testing.T) {
	s := simulate(t, setup{})
	in := s.intent(key)
	before := -1
	s.ledger.around = func(op publish.Operation) func() {
		if op.What == "merge" && before < 0 {
			before = 0
			for _, r := range s.world.SiteFaults.Requests() {
				if strings.HasPrefix(r.Path, "/posts/") {
					before++
				}
			}
		}
		return nil
	}
	_, err := s.run(tick{Intent: in})
	must(t, err)
	if before != 0 {
		t.Errorf("the page was asked for %d times before its merge", before)
	}
}

// TestADraftWithFaultsIsNotKept: a person is told each with its line, mends the draft, and it is read again.
func TestADraftWithFaultsIsNotKept(t *testing.T) {
	s := simulate(t, setup{})
	in := s.intent(key)
	good, err := os.ReadFile(in.Draft)
	must(t, err)
	must(t, os.WriteFile(in.Draft, append(good, "\n# Another title\n\n![](/x.png) and [wiki](http://wiki/)\n"...), 0o600))
	s.people.mend = func() {
		if _, _, kept, err := s.ledger.Kept(t.Context(), in.Key, 1, "draft"); err != nil || kept {
			t.Errorf("the faulty draft was kept: %v, %v", kept, err)
		}
		must(t, os.WriteFile(in.Draft, good, 0o600))
	}
	runs, err := s.run(tick{Intent: in})
	must(t, err)
	rec := runs[0].Record
	if got := s.people.conditions(); !slices.Equal(got, []publish.Condition{"qa_failed"}) || rec.Outcome != publish.Passed {
		t.Fatalf("a person was asked about %v\n%s", got, rec.Markdown())
	}
	lines := strings.Count(string(good), "\n")
	for _, want := range []string{
		fmt.Sprintf("idempotency.md:%d: ", lines+2), "second title", fmt.Sprintf("idempotency.md:%d: ", lines+4), "no alternative text", "only its own network",
	} {
		if !strings.Contains(fmt.Sprint(rec.Steps), want) {
			t.Errorf("the record does not tell %q:\n%s", want, rec.Markdown())
		}
	}
}
