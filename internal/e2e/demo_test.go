package e2e

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestTheDemoEndsWithOneOfEverything runs the first command of the README.
func TestTheDemoEndsWithOneOfEverything(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a Temporal server; left out with -short")
	}
	t.Parallel()
	code, out, errOut := starter(t, nil, "demo", "--once", "--json")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, errOut)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var s map[string]float64
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &s); err != nil || len(lines) != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	for name, want := range map[string]float64{
		"articles": 3, "published": 3, "pull_requests": 3, "merges": 3, "deliveries": 6, "settled": 6, "duplicates": 0,
	} {
		if s[name] != want {
			t.Errorf("%s is %v, want %v", name, s[name], want)
		}
	}
	if s["reconciled"] < 1 || s["github_mutations"] > 6 || s["github_reads"] > 12 || s["history_events"] == 0 || s["actions"] == 0 {
		t.Errorf("%v", s)
	}
}
