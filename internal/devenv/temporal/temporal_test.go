package temporal

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

func TestServerKeepsItsFileOverAKill(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 12*time.Minute)
	defer cancel()
	binary, err := Find(ctx, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Start(ctx, Options{Binary: binary, DBFile: filepath.Join(t.TempDir(), "temporal.db"), Headless: true, SearchAttributes: []string{"ColophonStep"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop() })
	c, err := client.Dial(client.Options{HostPort: s.Address(), Logger: silent{}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: "kept", TaskQueue: "none"}, "Any"); err != nil {
		t.Fatal(err)
	}
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := s.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := c.DescribeWorkflow(ctx, "kept", ""); err != nil {
		t.Errorf("the run is gone: %v", err)
	}
	n, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: Namespace})
	if err != nil || n.Config.WorkflowExecutionRetentionTtl.AsDuration() != 90*24*time.Hour {
		t.Errorf("retention %v, %v", n.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration(), err)
	}
}

func TestATakenPortIsAClearError(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	_, err = Start(context.Background(), Options{Binary: "none", Port: port})
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("port %d is taken", port)) {
		t.Errorf("%v", err)
	}
}

func TestAWrongProgramIsAClearError(t *testing.T) {
	t.Setenv("COLOPHON_TEMPORAL", "/bin/true")
	if _, err := Find(context.Background(), os.Stderr); err == nil || !strings.Contains(err.Error(), "COLOPHON_TEMPORAL") {
		t.Errorf("%v", err)
	}
}

func TestAServerThatEndsAsItBeginsIsTriedAgain(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "temporal")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho begun >> "+dir+"/log\necho no free port >&2\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := Start(context.Background(), Options{Binary: program})
	if err == nil || !strings.Contains(err.Error(), "no free port") {
		t.Errorf("%v", err)
	}
	log, _ := os.ReadFile(filepath.Join(dir, "log"))
	if n := strings.Count(string(log), "begun"); n != tries*tries {
		t.Errorf("it was started %d times", n)
	}
}

// TestAnotherServerOnThePortIsNotTakenForOurs starts a server where another one has come first: it answers at
// once, and is not the one that was started.
func TestAnotherServerOnThePortIsNotTakenForOurs(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 12*time.Minute)
	defer cancel()
	binary, err := Find(ctx, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	first, err := Start(ctx, Options{Binary: binary, Headless: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = first.Stop() })
	second := &Server{options: first.options}
	if err := second.launch(ctx); err == nil {
		t.Error("the first server was taken for the second")
	} else if _, ended := errors.AsType[*endedError](err); !ended {
		t.Error(err)
	}
}
