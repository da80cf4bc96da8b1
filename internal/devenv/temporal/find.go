// Package temporal finds or builds Temporal's own development server, and runs it.
package temporal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Version is the CLI that tools.mod pins, and Module where it comes from.
const (
	Version = "v1.5.1"
	Module  = "github.com/temporalio/cli/cmd/temporal"
)

// Find answers the path of a temporal program: the one that COLOPHON_TEMPORAL names, one on the PATH that
// is new enough, the one that was built before, or one that is built now, once, which takes some minutes
// and is told on progress.
func Find(ctx context.Context, progress io.Writer) (string, error) {
	if p := os.Getenv("COLOPHON_TEMPORAL"); p != "" {
		if !fits(ctx, p) {
			return "", fmt.Errorf("COLOPHON_TEMPORAL=%s is not a temporal program of version %s or later", p, Version)
		}
		return p, nil
	}
	if p, err := exec.LookPath("temporal"); err == nil && fits(ctx, p) {
		return p, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("temporal: %w; set HOME, or COLOPHON_TEMPORAL to a temporal program", err)
	}
	dir := filepath.Join(cache, "colophon", fmt.Sprintf("temporal-%s-%s-%s", Version, runtime.GOOS, runtime.GOARCH))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("temporal: %w", err)
	}
	binary := filepath.Join(dir, "temporal")
	if fits(ctx, binary) {
		return binary, nil
	}
	unlock, err := lock(ctx, filepath.Join(dir, "lock"), progress)
	if err != nil {
		return "", err
	}
	defer unlock()
	if fits(ctx, binary) { // the process that was waited for has built it
		return binary, nil
	}
	return binary, build(ctx, binary, progress)
}

var versionShape = regexp.MustCompile(`temporal version v?(\d+)\.(\d+)\.(\d+)`)

// fits says whether a program is a temporal of at least 1.5, or one that was built from source and cannot
// tell its version.
func fits(ctx context.Context, path string) bool {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil || !strings.HasPrefix(string(out), "temporal version") {
		return false
	}
	m := versionShape.FindSubmatch(out)
	if m == nil {
		return true
	}
	major, _ := strconv.Atoi(string(m[1]))
	minor, _ := strconv.Atoi(string(m[2]))
	return major > 1 || major == 1 && minor >= 5 || major == 0
}

// lock lets one process build at a time; the others wait for its result.
func lock(ctx context.Context, path string, progress io.Writer) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("temporal: %w", err)
	}
	for told := false; ; told = true {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			_ = f.Close()
			return nil, fmt.Errorf("temporal: lock %s: %w", path, err)
		}
		if !told {
			fmt.Fprintln(progress, "Waiting for another process that builds Temporal …")
		}
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

// build compiles the pinned CLI and puts it in place when it is whole.
func build(ctx context.Context, binary string, progress io.Writer) error {
	mod, err := modfile(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(progress, "Building Temporal %s from source. This happens once and takes three to ten minutes …\n", Version)
	begun := time.Now()
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(15 * time.Second):
				fmt.Fprintf(progress, "  still building, %s\n", time.Since(begun).Round(time.Second))
			}
		}
	}()
	part := fmt.Sprintf("%s.%d", binary, os.Getpid())
	defer os.Remove(part)
	cmd := exec.CommandContext(ctx, "go", "build", "-modfile="+mod, "-o", part, Module)
	cmd.Dir = filepath.Dir(mod)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build Temporal: %w\n%s\nInstall the temporal CLI %s or later (https://docs.temporal.io/cli) and put it on the PATH", err, tail(out), Version)
	}
	if err := os.Rename(part, binary); err != nil {
		return fmt.Errorf("build Temporal: %w", err)
	}
	fmt.Fprintf(progress, "Built Temporal in %s.\n", time.Since(begun).Round(time.Second))
	return nil
}

// modfile is the tools.mod beside the module's go.mod.
func modfile(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	mod := filepath.Join(filepath.Dir(strings.TrimSpace(string(out))), "tools.mod")
	if _, missing := os.Stat(mod); err != nil || missing != nil {
		return "", fmt.Errorf("there is no temporal program, and none can be built here, outside Colophon's source; install the temporal CLI %s or later (https://docs.temporal.io/cli) and put it on the PATH", Version)
	}
	return mod, nil
}

func tail(out []byte) []byte { return out[max(0, len(out)-2000):] }
