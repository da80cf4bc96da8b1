package e2e

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// folder is a copy of the examples, with one text replaced in one file.
func folder(t *testing.T, file, old, put string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../examples")); err != nil {
		t.Fatal(err)
	}
	if file != "" {
		path := filepath.Join(dir, file)
		raw, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(raw), old) {
			t.Fatalf("%s has no %q (%v)", file, old, err)
		}
		if err := os.WriteFile(path, []byte(strings.Replace(string(raw), old, put, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestWrongInputIsOneClearErrorAndChangesNothing gives the programs what they cannot work with.
func TestWrongInputIsOneClearErrorAndChangesNothing(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	port := strconv.Itoa(taken.Addr().(*net.TCPAddr).Port)
	nowhere := []string{"TEMPORAL_ADDRESS=127.0.0.1:1", "GITHUB_TOKEN=", "INDEXNOW_KEY=x", "MASTODON_TOKEN=x", "BLUESKY_PASSWORD=x", "DEVTO_KEY=x", "X_CONSUMER_KEY=x", "X_CONSUMER_SECRET=x", "X_ACCESS_TOKEN=x", "X_ACCESS_SECRET=x"}
	const good = "media-001:2026-10-04:idempotency"
	for name, c := range map[string]struct {
		program        string
		args           []string
		file, old, put string
		code           int
		want           []string
	}{
		"unknown configuration key": {"starter", []string{"publish", good}, "colophon.yaml", "  base: main", "  bass: main", 2, []string{"colophon.yaml:11:", "bass"}},
		"bad date in the key":       {"starter", []string{"publish", "media-001:2026-02-30:x"}, "", "", "", 2, []string{"2026-02-30", "YYYY-MM-DD"}},
		"bad date in the calendar":  {"starter", []string{"publish", good}, "calendar.yaml", "date: 2026-10-05", "date: 2026-13-05", 2, []string{"calendar.yaml:18:", "a day that exists"}},
		"slug that escapes":         {"starter", []string{"publish", good}, "calendar.yaml", "slug: idempotency", "slug: ../../idempotency", 2, []string{"calendar.yaml:12:", "../../idempotency"}},
		"no such key":               {"starter", []string{"publish", "media-001:2026-10-04:nothing"}, "", "", "", 2, []string{"did you mean", good}},
		"not approved":              {"starter", []string{"publish", good}, "calendar.yaml", "    approved: {by: Ada Example, at: 2026-10-01T09:00:00Z}\n", "", 2, []string{"is not approved"}},
		"no draft":                  {"starter", []string{"publish", good}, "calendar.yaml", "drafts/idempotency.md", "drafts/none.md", 2, []string{"the draft cannot be read"}},
		"no configuration":          {"starter", []string{"status", "--config", "/nonexistent/colophon.yaml"}, "", "", "", 2, []string{"/nonexistent/colophon.yaml", "--config"}},
		"unknown command":           {"starter", []string{"pubish"}, "", "", "", 2, []string{"pubish"}},
		"Temporal not reachable":    {"starter", []string{"publish", good}, "", "", "", 5, []string{"127.0.0.1:1", "TEMPORAL_ADDRESS"}},
		"port taken":                {"starter", []string{"demo", "--once", "--ui-port", port}, "", "", "", 1, []string{"port " + port + " is taken"}},
		"missing token":             {"worker", []string{"--check"}, "", "", "", 1, []string{"repository.token", "GITHUB_TOKEN is not set"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t, c.file, c.old, c.put)
			before := listing(t, dir)
			args := c.args
			if c.program == "worker" || c.args[0] != "demo" && !strings.Contains(strings.Join(args, " "), "--config") {
				args = append(args, "--config", filepath.Join(dir, "colophon.yaml"))
			}
			code, out, errOut := run(t, nowhere, program(t, c.program), args...)
			if code != c.code || strings.Contains(errOut, "panic") || strings.Contains(errOut, "goroutine") {
				t.Errorf("exit code %d, want %d: %s%s", code, c.code, out, errOut)
			}
			for _, want := range c.want {
				if !strings.Contains(errOut, want) {
					t.Errorf("no %q in: %s", want, errOut)
				}
			}
			if after := listing(t, dir); after != before {
				t.Errorf("it left something behind:\n%s\nwas\n%s", after, before)
			}
		})
	}
}

func listing(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.Walk(dir, func(p string, info os.FileInfo, err error) error {
		if err == nil {
			b.WriteString(p + " " + strconv.FormatInt(info.Size(), 10) + "\n")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
