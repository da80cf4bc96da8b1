package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"colophon/internal/config"
	"colophon/internal/devenv"
	"colophon/internal/ledger"
	"colophon/internal/sandbox"
	"colophon/internal/sandbox/fault"
	"colophon/publish"
)

// TestAnAuditFindsArticlesThatWentLiveSilently: fifty-seven of them, on a site of which the ledger knows one article.
// Once somebody has accepted them they are not told again, and what is new is.
func TestAnAuditFindsArticlesThatWentLiveSilently(t *testing.T) {
	t.Parallel()
	const silent = 57
	seed := map[string]string{"README.md": "# The Example\n"}
	for n := range silent {
		seed[fmt.Sprintf("posts/silent-%02d.md", n)] = fmt.Sprintf("---\ntitle: Silent %[1]d\nslug: silent-%02[1]d\ndate: 2026-08-%02[2]d\n---\n\nNobody was told.\n", n, n%28+1)
	}
	w, err := sandbox.Start(sandbox.Options{Dir: t.TempDir(), Seed: seed})
	must(t, err)
	t.Cleanup(w.Close)
	file, err := devenv.Configure(t.TempDir(), w, "ledger.db", policy)
	must(t, err)
	cfg, err := config.Load(file)
	must(t, err)
	must(t, os.WriteFile(cfg.Calendar, []byte("campaigns: {media-001: {zone: Europe/Berlin, channels: [mastodon]}}\nentries: []\n"), 0o600))

	type answer struct {
		Live, Accepted int
		Findings       []publish.AuditFinding
	}
	audit := func(want int, args ...string) (a answer) {
		t.Helper()
		code, out, errOut := starter(t, nil, append([]string{"audit", "--json", "--config", file}, args...)...)
		if err := json.Unmarshal([]byte(out), &a); err != nil || code != want || strings.Contains(errOut, "panic") {
			t.Fatalf("exit code %d, want %d; %v: %s%s", code, want, err, out, errOut)
		}
		return a
	}
	if a := audit(1); a.Live != silent || len(a.Findings) != silent || a.Findings[0].Kind != publish.Silent || a.Findings[0].Next == "" {
		t.Fatalf("%d live, %d findings: %+v", a.Live, len(a.Findings), a.Findings[:min(len(a.Findings), 2)])
	}
	if code, out, _ := starter(t, nil, "audit", "--config", file); code != 1 || !strings.Contains(out, "57 articles are live, 57 findings") || !strings.Contains(out, "/posts/silent-31/") {
		t.Errorf("%d: %s", code, out)
	}
	if a := audit(0, "--accept"); a.Accepted != silent || len(a.Findings) != 0 {
		t.Errorf("%+v", a)
	}
	if a := audit(0); a.Live != silent || len(a.Findings) != 0 {
		t.Errorf("after they were accepted: %+v", a)
	}

	// One more goes live past Colophon; one that was announced disappears; one in the calendar is overdue.
	l, err := ledger.Open(context.Background(), cfg.Ledger)
	must(t, err)
	in := publish.Intent{
		Key: "media-001:2026-08-01:gone", Topic: "Gone", Slug: "gone", Date: "2026-08-01", Repository: "example/blog", BaseBranch: "main", Revision: 1,
		Path: "posts/gone.md", URL: publish.CanonicalURL(w.SitePort.URL() + "/posts/gone/"),
	}
	_, err = l.Admit(context.Background(), in)
	must(t, err)
	_, err = l.Settle(context.Background(), publish.Record{Intent: in, Outcome: publish.Passed})
	must(t, err)
	must(t, l.Close())
	must(t, os.WriteFile(cfg.Calendar, []byte("campaigns: {media-001: {zone: Europe/Berlin, channels: [mastodon]}}\nentries:\n  - {campaign: media-001, id: late, date: 2026-09-01, topic: Late, slug: late, draft: drafts/idempotency.md, approved: {by: Ada, at: 2026-08-30T09:00:00Z}}\n"), 0o600))
	_, files, err := w.GitHub.Tree("main")
	must(t, err)
	files["posts/new.md"] = []byte("---\ntitle: New\nslug: new\ndate: 2026-09-02\n---\n\nNew.\n")
	w.Site.Deploy(files)
	var kinds []string
	for _, f := range audit(1).Findings {
		kinds = append(kinds, string(f.Kind)+" "+strings.TrimPrefix(f.URL, w.SitePort.URL()))
	}
	if got, want := strings.Join(kinds, ", "), "never_announced /posts/new/, announced_not_live /posts/gone/, overdue /posts/late/"; got != want {
		t.Errorf("found %s, want %s", got, want)
	}

	// A site that cannot be read is a finding, and nothing is accepted or taken for gone.
	w.SiteFaults.Add(fault.Rule{Kind: fault.StatusBefore, Status: 503, Times: -1})
	a := audit(1, "--accept")
	for _, f := range a.Findings {
		if f.Kind != publish.Unaudited && f.Kind != publish.Overdue {
			t.Errorf("%+v", f)
		}
	}
	if a.Live != 0 || a.Accepted != 0 || len(a.Findings) != 4 {
		t.Errorf("%+v", a)
	}
}

// TestAnAuditOfWhatColophonPublishedFindsNothing runs the whole way, and audits it.
func TestAnAuditOfWhatColophonPublishedFindsNothing(t *testing.T) {
	s := simulate(t, setup{})
	all, ticks := s.articles(0)
	runs, err := s.run(ticks...)
	must(t, err)
	for _, f := range s.balance(all, runs, nil, err).faults {
		t.Error(f)
	}
	code, out, errOut := starter(t, nil, "audit", "--config", s.file)
	if code != 0 || !strings.Contains(out, "3 articles are live, 0 findings") {
		t.Errorf("exit code %d: %s%s", code, out, errOut)
	}
}
