package fault

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// drain reads a request's body whole, so that the effect can have it after the client has gone.
func drain(req *http.Request) func() io.ReadCloser {
	body, _ := io.ReadAll(req.Body)
	return func() io.ReadCloser { return io.NopCloser(bytes.NewReader(body)) }
}

// Port is a server on a free port of the loopback interface, which can refuse connections for a while.
type Port struct {
	handler http.Handler
	addr    string

	mu       sync.Mutex
	server   *http.Server
	listener net.Listener
}

// Listen serves handler on a free port.
func Listen(handler http.Handler) (*Port, error) {
	p := &Port{handler: handler, addr: "127.0.0.1:0"}
	return p, p.Accept()
}

// URL is where the server is, without a slash at the end.
func (p *Port) URL() string { return "http://" + p.addr }

// Accept begins to listen, after Refuse on the same port as before.
func (p *Port) Accept() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server != nil {
		return nil
	}
	l, err := net.Listen("tcp", p.addr)
	if err != nil {
		return err
	}
	p.addr = l.Addr().String()
	p.listener, p.server = l, &http.Server{Handler: p.handler, ReadHeaderTimeout: 10 * time.Second}
	go p.server.Serve(l) //nolint:errcheck // it ends by Close
	return nil
}

// Refuse stops listening and ends open connections: whoever calls is refused. It closes the socket itself,
// as the server may not have taken it over yet: until then calls would be accepted, and reset.
func (p *Port) Refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server != nil {
		_ = p.listener.Close()
		_ = p.server.Close()
		p.server, p.listener = nil, nil
	}
}

// Close ends the server.
func (p *Port) Close() { p.Refuse() }
