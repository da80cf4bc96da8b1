package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// names is a name server inside this process: everything below localhost is this machine, except names that are
// lost for the moment.
var names nameServer

type nameServer struct {
	lost sync.Map
	next atomic.Int64
}

// fresh is a name that nobody else uses.
func (n *nameServer) fresh() string {
	return "sandbox-" + time.Unix(n.next.Add(1), 0).UTC().Format("150405") + ".localhost"
}

func (n *nameServer) lose(name string) { n.lost.Store(name+".", true) }
func (n *nameServer) find(name string) { n.lost.Delete(name + ".") }

// install makes the process ask this name server.
func (n *nameServer) install() {
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go n.serve(theirs)
		return ours, nil
	}}
}

// serve answers questions as over TCP: each message with its length in front.
func (n *nameServer) serve(conn net.Conn) {
	defer conn.Close()
	for {
		var size [2]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}
		question := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(conn, question); err != nil {
			return
		}
		var m dnsmessage.Message
		if err := m.Unpack(question); err != nil || len(m.Questions) != 1 {
			return
		}
		q := m.Questions[0]
		m.Response, m.Authoritative, m.Additionals = true, true, nil
		_, lost := n.lost.Load(q.Name.String())
		switch {
		case lost || !strings.HasSuffix(q.Name.String(), ".localhost."):
			m.RCode = dnsmessage.RCodeNameError
		case q.Type == dnsmessage.TypeA:
			m.Answers = []dnsmessage.Resource{{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
				Body:   &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}},
			}}
		}
		answer, err := m.Pack()
		if err != nil {
			return
		}
		if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
			return
		}
	}
}

// papers are the certificates of this process's servers: one that clients trust, and one that they do not.
var papers struct {
	trusted, untrusted tls.Certificate
}

// issue makes the certificates, and makes the process trust the first, in a file of dir.
func issue(dir string) error {
	for _, to := range []*tls.Certificate{&papers.trusted, &papers.untrusted} {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return err
		}
		paper := &x509.Certificate{
			SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "sandbox"}, DNSNames: []string{"*.localhost"}, IsCA: true, BasicConstraintsValid: true,
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		}
		der, err := x509.CreateCertificate(rand.Reader, paper, paper, &key.PublicKey, key)
		if err != nil {
			return err
		}
		*to = tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	}
	file := filepath.Join(dir, "trusted.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: papers.trusted.Certificate[0]}), 0o600); err != nil {
		return err
	}
	return os.Setenv("SSL_CERT_FILE", file)
}

// paperwork is a server's TLS, whose certificate can be exchanged while it serves.
type paperwork struct{ wrong atomic.Bool }

func (p *paperwork) config() *tls.Config {
	return &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		if p.wrong.Load() {
			return &papers.untrusted, nil
		}
		return &papers.trusted, nil
	}}
}
