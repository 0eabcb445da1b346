package proxy

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/examples/proxy/internal/config"
	"github.com/suiro-go/suiro/examples/proxy/internal/status"
	"github.com/suiro-go/suiro/internal/conntest"
)

// A fixture is a proxy that runs until the test's end.
type fixture struct {
	*Proxy
	t       *testing.T
	backend string
	log     conntest.Log
}

// start starts a proxy as a file of that text would have it.
func start(t *testing.T, backend, text string) *fixture {
	t.Helper()
	f := &fixture{t: t, backend: backend}
	p, err := New(f.parse(text), f.log.Logger())
	require.NoError(t, err)
	f.Proxy = p
	conntest.Report(t, f.log.String)
	t.Cleanup(func() { _ = p.Close() })
	return f
}

func (f *fixture) parse(text string) *config.Config {
	f.t.Helper()
	c, err := config.Parse(text)
	require.NoError(f.t, err, text)
	c.Backend, c.AccessLog = f.backend, true
	return c
}

// addr is the first listener's.
func (f *fixture) addr() string { return f.Addresses()[0].Host }

func (f *fixture) dial() *net.TCPConn {
	f.t.Helper()
	c, err := dial(f.addr())
	require.NoError(f.t, err)
	f.t.Cleanup(func() { _ = c.Close() })
	return c.(*net.TCPConn)
}

func dial(addr string) (net.Conn, error) {
	c, err := net.DialTimeout("tcp", addr, conntest.Patience)
	if err == nil {
		err = c.SetDeadline(time.Now().Add(conntest.Patience))
	}
	return c, err
}

func (f *fixture) route() status.Route { return f.Snapshot().Routes[0] }

// An origin is a server behind the proxy, which counts whom it serves.
type origin struct {
	net.Listener
	mu    sync.Mutex
	conns map[net.Conn]bool
	seen  int
}

// listen is an origin whose connections serve serves.
func listen(t *testing.T, addr string, serve func(net.Conn)) *origin {
	t.Helper()
	ln, err := net.Listen("tcp", addr)
	require.NoError(t, err)
	return serveAll(t, ln, serve)
}

func serveAll(t *testing.T, ln net.Listener, serve func(net.Conn)) *origin {
	o := &origin{Listener: ln, conns: map[net.Conn]bool{}}
	t.Cleanup(o.kill)
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			o.mu.Lock()
			o.conns[c] = true
			o.seen++
			o.mu.Unlock()
			go func() {
				serve(c)
				_ = c.Close()
				o.mu.Lock()
				delete(o.conns, c)
				o.mu.Unlock()
			}()
		}
	}()
	return o
}

// kill ends it as the end of its process would.
func (o *origin) kill() {
	_ = o.Close()
	o.mu.Lock()
	defer o.mu.Unlock()
	for c := range o.conns {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = c.Close()
	}
}

func (o *origin) served() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.seen
}

// echo is plain: package net would splice, and keep the pipes.
func echo(c net.Conn) {
	_, _ = io.Copy(struct{ io.Writer }{c}, struct{ io.Reader }{c})
	if h, ok := c.(interface{ CloseWrite() error }); ok {
		_ = h.CloseWrite()
	}
}

// greet tells its name, and then echoes.
func greet(name string) func(net.Conn) {
	return func(c net.Conn) {
		_, _ = io.WriteString(c, name+"\n")
		echo(c)
	}
}

// greeting returns the name of the upstream behind a new connection.
func greeting(addr string) (string, error) {
	c, err := dial(addr)
	if err != nil {
		return "", err
	}
	defer c.Close()
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		return "", err
	}
	return line[:len(line)-1], nil
}

func exchange(c net.Conn, text string) error {
	if _, err := io.WriteString(c, text); err != nil {
		return err
	}
	got := make([]byte, len(text))
	if _, err := io.ReadFull(c, got); err != nil {
		return err
	}
	if string(got) != text {
		return fmt.Errorf("%q came back for %q", got, text)
	}
	return nil
}

// A secret is a certificate, and what its clients need.
type secret struct {
	cert, key string // paths
	pair      tls.Certificate
	pool      *x509.CertPool
}

func newSecret(t *testing.T, names ...string) *secret {
	t.Helper()
	dir := t.TempDir()
	s := &secret{cert: filepath.Join(dir, "cert.pem"), key: filepath.Join(dir, "key.pem")}
	s.pair, s.pool = conntest.Certificate(t, names...)
	cert, key := conntest.PEM(t, s.pair)
	require.NoError(t, os.WriteFile(s.cert, cert, 0o600))
	require.NoError(t, os.WriteFile(s.key, key, 0o600))
	return s
}

func (s *secret) server() *tls.Config { return &tls.Config{Certificates: []tls.Certificate{s.pair}} }

func (s *secret) client(name string) *tls.Config {
	return &tls.Config{RootCAs: s.pool, ServerName: name}
}
