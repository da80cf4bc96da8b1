package temporal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"

	namespacepb "go.temporal.io/api/namespace/v1"
)

// Options say how to run the server.
type Options struct {
	Binary           string
	DBFile           string   // a SQLite file; in memory if empty
	Port, UIPort     int      // free ones if 0
	Headless         bool     // without the Web UI
	SearchAttributes []string // of type Keyword
	Retention        time.Duration
	Settings         []string // of the server's dynamic configuration, each KEY=VALUE
}

// Namespace is the one namespace of the development server.
const Namespace = "default"

// Server is a running development server on the loopback interface.
type Server struct {
	options Options

	mu     sync.Mutex
	cmd    *exec.Cmd
	output *output
	exited chan struct{}
}

// Start starts a server and waits until it serves.
func Start(ctx context.Context, o Options) (*Server, error) {
	if o.Retention == 0 {
		o.Retention = 90 * 24 * time.Hour
	}
	for try := 1; ; try++ {
		s := &Server{options: o}
		for _, p := range []*int{&s.options.Port, &s.options.UIPort} {
			if err := reserve(p); err != nil {
				return nil, err
			}
		}
		err := s.Restart(ctx)
		if err == nil {
			return s, s.retain(ctx)
		}
		if _, ended := errors.AsType[*endedError](err); !ended || try == tries {
			return nil, err
		}
	}
}

// tries is how often a server that ends as it begins is started: it looks for free ports of its own, and
// another process may take one of them, or one of ours, before it does.
const tries = 3

// endedError says that the server ended before it served.
type endedError struct{ output string }

func (e *endedError) Error() string {
	return "temporal: the server ended as it began: " + e.output
}

// reserved are the ports that this process has given to servers, so that two that start at once get two.
var reserved sync.Map

// reserve finds a free port, or sees that the wanted one is free.
func reserve(p *int) error {
	for wanted := *p; ; {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(wanted)))
		if err != nil {
			return fmt.Errorf("temporal: port %d is taken: %w; choose another, or 0 for a free one", wanted, err)
		}
		*p = l.Addr().(*net.TCPAddr).Port
		if err := l.Close(); err != nil {
			return err
		}
		if _, again := reserved.LoadOrStore(*p, true); !again || wanted != 0 {
			return nil
		}
	}
}

// Address is where the server listens, host:port.
func (s *Server) Address() string { return fmt.Sprintf("127.0.0.1:%d", s.options.Port) }

// UIURL is where the Web UI is.
func (s *Server) UIURL() string { return fmt.Sprintf("http://127.0.0.1:%d", s.options.UIPort) }

// Restart starts the server again, on the same ports and file, after Kill or Stop.
func (s *Server) Restart(ctx context.Context) error {
	for try := 1; ; try++ {
		err := s.launch(ctx)
		if _, ended := errors.AsType[*endedError](err); !ended || try == tries {
			return err
		}
	}
}

func (s *Server) launch(ctx context.Context) error {
	o := s.options
	args := []string{
		"server", "start-dev", "--ip", "127.0.0.1", "--port", strconv.Itoa(o.Port), "--log-level", "error",
		"--dynamic-config-value", "system.enableActivityEagerExecution=true",
	}
	if o.Headless {
		args = append(args, "--headless")
	} else {
		args = append(args, "--ui-ip", "127.0.0.1", "--ui-port", strconv.Itoa(o.UIPort))
	}
	if o.DBFile != "" {
		args = append(args, "--db-filename", o.DBFile)
	}
	for _, set := range o.Settings {
		args = append(args, "--dynamic-config-value", set)
	}
	for _, name := range o.SearchAttributes {
		args = append(args, "--search-attribute", name+"=Keyword")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// Not CommandContext: the server must outlive Ctrl-C until the workers have stopped.
	s.cmd, s.output, s.exited = exec.Command(o.Binary, args...), &output{}, make(chan struct{})
	s.cmd.Stdout, s.cmd.Stderr = s.output, s.output
	if err := start(s.cmd); err != nil {
		return fmt.Errorf("temporal: %w", err)
	}
	go func(cmd *exec.Cmd, exited chan struct{}) {
		_ = cmd.Wait()
		close(exited)
	}(s.cmd, s.exited)
	return s.await(ctx)
}

// output is what a process says, for whoever reads it while it is said.
type output struct {
	mu   sync.Mutex
	said bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.said.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.said.String()
}

// settling is how long a server that does not tell where it serves must have answered to be taken for ours. One
// that another process has on the port answers at once, and ours then ends.
const settling = 5 * time.Second

// await waits until our server serves: it says so, and the namespace answers.
func (s *Server) await(ctx context.Context) error {
	deadline := time.After(time.Minute)
	var answered time.Time
	for {
		err := s.with(ctx, func(ctx context.Context, c workflowservice.WorkflowServiceClient) error {
			_, err := c.DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: Namespace})
			return err
		})
		if err == nil && answered.IsZero() {
			answered = time.Now()
		}
		if err == nil && (s.told() || time.Since(answered) > settling) {
			return nil
		}
		select {
		case <-ctx.Done():
			_ = s.cmd.Process.Kill()
			return ctx.Err()
		case <-s.exited:
			return &endedError{string(tail([]byte(s.output.String())))}
		case <-deadline:
			_ = s.cmd.Process.Kill()
			return fmt.Errorf("temporal: no answer on %s within a minute: %w", s.Address(), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// told says whether the process has said that it serves, and where: "Server:  localhost:7233".
func (s *Server) told() bool {
	for line := range strings.Lines(s.output.String()) {
		if strings.Contains(line, "Server: ") && strings.HasSuffix(strings.TrimSpace(line), fmt.Sprintf(":%d", s.options.Port)) {
			return true
		}
	}
	return false
}

func (s *Server) with(ctx context.Context, f func(context.Context, workflowservice.WorkflowServiceClient) error) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	c, err := client.NewLazyClient(client.Options{HostPort: s.Address(), Logger: silent{}})
	if err != nil {
		return err
	}
	defer c.Close()
	return f(ctx, c.WorkflowService())
}

// retain makes closed runs stay, instead of the development server's one day.
func (s *Server) retain(ctx context.Context) error {
	err := s.with(ctx, func(ctx context.Context, c workflowservice.WorkflowServiceClient) error {
		_, err := c.UpdateNamespace(ctx, &workflowservice.UpdateNamespaceRequest{
			Namespace: Namespace, Config: &namespacepb.NamespaceConfig{WorkflowExecutionRetentionTtl: durationpb.New(s.options.Retention)},
		})
		return err
	})
	if err != nil {
		return errors.Join(fmt.Errorf("temporal: set retention: %w", err), s.Stop())
	}
	return nil
}

// Kill ends the server at once, as a power cut does.
func (s *Server) Kill() error { return s.end(func() { _ = s.cmd.Process.Kill() }) }

// Stop ends the server in good order.
func (s *Server) Stop() error { return s.end(func() { _ = interrupt(s.cmd.Process) }) }

func (s *Server) end(signal func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	signal()
	select {
	case <-s.exited:
	case <-time.After(10 * time.Second):
		_ = s.cmd.Process.Kill()
		<-s.exited
	}
	return nil
}

// silent drops the client's log: while the server starts, refusals are expected.
type silent struct{}

func (silent) Debug(string, ...any) {}
func (silent) Info(string, ...any)  {}
func (silent) Warn(string, ...any)  {}
func (silent) Error(string, ...any) {}
