package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"colophon/internal/sandbox/fault"
)

// TestWritePictures makes the README's picture: the page of a run whose merge answer was lost, in Temporal's
// own Web UI.
//
//	COLOPHON_WRITE_PICTURES=1 go test ./internal/e2e -run WritePictures
func TestWritePictures(t *testing.T) {
	if os.Getenv("COLOPHON_WRITE_PICTURES") == "" {
		t.Skip("writes docs/images; set COLOPHON_WRITE_PICTURES=1, with chromium on the PATH")
	}
	w := startWith(t, false)
	w.World.GitHubFaults.Add(fault.Rule{Method: "PUT", Kind: fault.ResetAfter})
	w.begin()
	rec := w.finish()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	file, err := filepath.Abs("../../docs/images/run.png")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--user-data-dir="+t.TempDir(),
		"--window-size=1400,1250", "--virtual-time-budget=20000", "--screenshot="+file, w.RunURL(string(key), rec.Runs[0]))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if info, err := os.Stat(file); err != nil || info.Size() < 20_000 {
		t.Fatalf("%v: no picture", err)
	}
}
