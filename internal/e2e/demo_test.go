package e2e

import (
	"bufio"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"regexp"
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
		"articles": 3, "published": 3, "pull_requests": 3, "merges": 3, "deliveries": 15, "settled": 15, "duplicates": 0,
	} {
		if s[name] != want {
			t.Errorf("%s is %v, want %v", name, s[name], want)
		}
	}
	if s["reconciled"] < 1 || s["github_mutations"] > 6 || s["github_reads"] > 12 || s["history_events"] == 0 || s["actions"] == 0 {
		t.Errorf("%v", s)
	}
}

// TestCtrlCEndsEverythingThatTheDemoStarted interrupts the demo while it stays up.
func TestCtrlCEndsEverythingThatTheDemoStarted(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a Temporal server; left out with -short")
	}
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.Command(program(t, "starter"), "demo", "--dir", dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	var urls []string
	for lines := bufio.NewScanner(out); lines.Scan() && !strings.HasPrefix(lines.Text(), "Ctrl-C"); {
		urls = append(urls, regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindAllString(lines.Text(), -1)...)
	}
	if len(urls) < 3 {
		t.Fatalf("the demo showed %v", urls)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it did not end well: %v", err)
	}
	for _, u := range urls {
		conn, err := net.Dial("tcp", strings.TrimPrefix(u, "http://"))
		if err == nil {
			_ = conn.Close()
			t.Errorf("%s still answers", u)
		}
	}
}
