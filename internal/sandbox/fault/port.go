package fault

import (
	"bytes"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
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
	name    Name

	mu       sync.Mutex
	server   *http.Server
	listener net.Listener
	held     int // a socket that keeps the port while connections are refused; 0 if there is none
}

// Name is how a port is reached. The zero value is by its address, in plain HTTP.
type Name struct {
	Host string      // a name of this machine, which whoever calls must be able to resolve
	TLS  *tls.Config // of an HTTPS server
}

// Listen serves handler on a free port.
func Listen(handler http.Handler) (*Port, error) { return ListenAs(Name{}, handler) }

// ListenAs serves handler on a free port, under a name.
func ListenAs(n Name, handler http.Handler) (*Port, error) {
	p := &Port{handler: handler, addr: "127.0.0.1:0", name: n}
	return p, p.Accept()
}

// URL is where the server is, without a slash at the end.
func (p *Port) URL() string {
	scheme, host, port := "http", p.name.Host, p.addr[strings.LastIndexByte(p.addr, ':'):]
	if p.name.TLS != nil {
		scheme = "https"
	}
	if host == "" {
		return scheme + "://" + p.addr
	}
	return scheme + "://" + host + port
}

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
	p.release()
	if p.name.TLS != nil {
		l = tls.NewListener(l, p.name.TLS)
	}
	p.listener, p.server = l, &http.Server{
		Handler: p.handler, ReadHeaderTimeout: 10 * time.Second,
		ErrorLog: log.New(io.Discard, "", 0), // what goes wrong here is meant to
	}
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
		p.hold()
	}
}

// hold keeps the port by a socket that is bound and does not listen, so that nobody else takes it in the meantime.
func (p *Port) hold() {
	_, text, _ := net.SplitHostPort(p.addr)
	port, err := strconv.Atoi(text)
	if err != nil {
		return
	}
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return
	}
	_ = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		_ = syscall.Close(fd)
		return
	}
	p.held = fd
}

func (p *Port) release() {
	if p.held != 0 {
		_ = syscall.Close(p.held)
		p.held = 0
	}
}

// Close ends the server.
func (p *Port) Close() {
	p.Refuse()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.release()
}
