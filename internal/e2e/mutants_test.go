package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// mutant is a deliberate defect: a piece of a file, and what stands there instead.
type mutant struct {
	name, file, old, put string
}

// mutants are the defects that would make the promise empty, one a safeguard.
var mutants = []mutant{
	{
		"the first look is skipped", "activities/ensure.go",
		"if traits.LookFirst || prior.Attempts > 0 {", "if prior.Attempts > 0 {",
	},
	{
		"no look before a repetition", "activities/ensure.go",
		"if traits.LookFirst || prior.Attempts > 0 {", "if traits.LookFirst && prior.Attempts == 0 {",
	},
	{
		"unknown is taken for failed", "activities/ensure.go",
		"	default:\n		res.Outcome, res.Wait = publish.NotConfirmed, traits.Settle\n", "	default:\n		res.Outcome, res.Repeat = publish.FailedStep, true\n",
	},
	{
		"one look proves absence", "workflows/settle.go",
		"		return 2\n", "		return 1\n",
	},
	{
		"the claim is dropped, and the lane with it", "internal/ledger/attempt.go",
		"		if was.State == publish.Done || was.State != publish.NotAttempted && !approved {\n			return claimed(ctx, tx, op, was)\n		}\n		if err := admissible(ctx, tx, op); err != nil {\n			return err\n		}\n",
		"		_ = approved\n",
	},
	{
		"a retry has another operation key", "activities/ensure.go",
		"		done, err := s.Ledger.Attempt(ctx, e.Operation(), approval, e.Apply)\n",
		"		op := e.Operation()\n		if approval != nil {\n			op.ContentID, approval = op.ContentID+\"/again\", nil\n		}\n		done, err := s.Ledger.Attempt(ctx, op, approval, e.Apply)\n",
	},
	{
		"a retry has another idempotency key", "internal/channel/mastodon/post.go",
		"p.m.ID, prior.Rejections))", "p.m.ID, prior.Attempts))",
	},
	{
		"a sending activity has a retry policy", "workflows/policies.go",
		"o.RetryPolicy = &temporal.RetryPolicy{MaximumAttempts: 1}", "o.RetryPolicy = &temporal.RetryPolicy{MaximumAttempts: 3}",
	},
	{
		"the head's SHA is not sent", "internal/github/merge.go",
		"SHA: string(e.plan.Commit), MergeMethod", "MergeMethod",
	},
	{
		"the base is not looked at", "internal/github/merge.go",
		"	if prior.Attempts > 0 {\n", "	if false {\n",
	},
	{
		"an empty success is believed", "internal/github/pull.go",
		"	if pull.GetNumber() <= 0 || r.URL == \"\" || pull.GetHead().GetRef() != e.plan.Branch {", "	if false {",
	},
	{
		"the branch is not swept", "internal/github/repository.go",
		"		return []publish.Effect{removalEffect{c, \"sweep\"}}", "		return nil",
	},
}

// TestDeliberateDefectsFitTheProgram: each replaces something that stands in the program once.
func TestDeliberateDefectsFitTheProgram(t *testing.T) {
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) { m.overlay(t) })
	}
}

var failedCase = regexp.MustCompile(`--- FAIL: TestBoundaries/cases/(\S+)`)

// TestTheMatrixCatchesDeliberateDefects puts one defect after the other into a copy of the program, and demands
// that TestBoundaries fails of it: a matrix that cannot fail proves nothing. It takes minutes, and so only runs
// where COLOPHON_MUTANTS is set.
func TestTheMatrixCatchesDeliberateDefects(t *testing.T) {
	if os.Getenv("COLOPHON_MUTANTS") == "" {
		t.Skip("set COLOPHON_MUTANTS=1 to see each deliberate defect caught; it takes some minutes")
	}
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, "go", "test", "-overlay", m.overlay(t), "-count=1", "-failfast", "-vet=off", "-run", "^TestBoundaries$", "colophon/internal/e2e")
			out, err := cmd.CombinedOutput()
			caught := failedCase.FindStringSubmatch(string(out))
			switch {
			case err == nil:
				t.Errorf("nothing was caught")
			case caught == nil && !strings.Contains(string(out), "a run without trouble does not end well"):
				t.Fatalf("it failed, and not of the matrix: %v\n%.4000s", err, out)
			case caught == nil:
				caught = []string{"", "a run without trouble"}
				fallthrough
			default:
				fmt.Printf("mutation: %s → caught by: %s\n", m.name, strings.ReplaceAll(caught[1], "_", " "))
			}
		})
	}
}

// overlay writes the file with the defect, and says to the go command what it stands for.
func (m mutant) overlay(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../..", m.file))
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), m.old); n != 1 {
		t.Fatalf("%s: what the defect replaces stands there %d times", m.file, n)
	}
	dir := t.TempDir()
	put, list := filepath.Join(dir, "mutant.go"), filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(put, []byte(strings.Replace(string(source), m.old, m.put, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(map[string]any{"Replace": map[string]string{path: put}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(list, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return list
}
