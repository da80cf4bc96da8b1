package qa

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"colophon/publish"
)

// The limits of a checker: its time, and how much of what it says is read.
const (
	checkerTime = time.Minute
	mostSaid    = 64 << 10 // bytes
	mostFaults  = 50
)

// ask gives a draft to a command, on its standard input, with the draft's name in COLOPHON_DRAFT. Exit code 0 is passed;
// any other means faults, a line each of what it says. It gets the search path, a home and the language of the
// environment, and nothing else of it.
func ask(ctx context.Context, command []string, name string, source []byte) ([]publish.Fault, error) {
	ctx, cancel := context.WithTimeout(ctx, checkerTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = []string{"COLOPHON_DRAFT=" + name}
	for _, variable := range []string{"PATH", "HOME", "LANG", "LC_ALL", "TZ"} {
		if v, ok := os.LookupEnv(variable); ok {
			cmd.Env = append(cmd.Env, variable+"="+v)
		}
	}
	said := &limited{left: mostSaid}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(source), said, said
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("checker %s: no answer within %s", command[0], checkerTime)
	}
	exit := (*exec.ExitError)(nil)
	switch {
	case err == nil:
		return nil, nil
	case !errors.As(err, &exit) || exit.ExitCode() < 0:
		return nil, fmt.Errorf("checker %s: %w", command[0], err)
	}
	var faults []publish.Fault
	for line := range strings.Lines(said.String()) {
		if line = strings.TrimSpace(strings.ToValidUTF8(line, "\uFFFD")); line != "" && len(faults) < mostFaults {
			faults = append(faults, publish.Fault{Line: lineOf(line), Rule: command[0], Detail: publish.Clip(line)})
		}
	}
	if len(faults) == 0 {
		faults = []publish.Fault{{Rule: command[0], Detail: fmt.Sprintf("exit code %d, without a word", exit.ExitCode())}}
	}
	return faults, nil
}

var place = regexp.MustCompile(`^[^\s:]*:(\d{1,6}):`)

// lineOf reads the line number of what most checkers say: FILE:LINE:…
func lineOf(said string) int {
	if m := place.FindStringSubmatch(said); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	return 0
}

// limited keeps the first bytes that are written to it.
type limited struct {
	bytes.Buffer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	l.Buffer.Write(p[:n])
	return len(p), nil
}
