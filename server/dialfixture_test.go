package server_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/blocking"
	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/internal/testmode"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// A names is a Resolver of what a test says.
type names struct {
	mu    sync.Mutex
	hosts map[string][]string
	asked int
	block chan struct{}   // not nil: answers come when it is closed, or the context has ended
	began chan struct{}   // with block: one for each question
	last  context.Context // that of the last question
	ports map[string]int  // of services
	panic any
}

func (n *names) LookupNetIP(ctx context.Context, network, host string) (ips []netip.Addr, err error) {
	n.mu.Lock()
	n.asked++
	n.last = ctx
	addrs, ok := n.hosts[host]
	n.mu.Unlock()
	if n.panic != nil {
		panic(n.panic)
	}
	if n.block != nil {
		n.began <- struct{}{}
		select {
		case <-n.block:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	for _, a := range addrs {
		ip := netip.MustParseAddr(a)
		if network == "ip" || network == "ip4" == ip.Is4() {
			ips = append(ips, ip)
		}
	}
	return ips, nil
}

func (n *names) LookupPort(_ context.Context, network, service string) (int, error) {
	if p, ok := n.ports[service]; ok {
		return p, nil
	}
	return 0, &net.DNSError{Err: "unknown port", Name: network + "/" + service, IsNotFound: true}
}

// over reports whether the context of the last question has ended. A dial that ends soon may ask
// late or not at all.
func (n *names) over() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.last == nil || n.last.Err() != nil
}

func (n *names) questions() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked
}

// A client is a group without listeners, and a Dialer for it.
type client struct {
	server.Dialer
	group *conn.Group
	names *names
	t     *testing.T
}

// newClient makes a client whose workers wait without a limit, so that a lost wake-up hangs the
// test. (Other tests of this package need the limit.) With a paused clock only Advance moves time.
func newClient(t *testing.T, backend string, workers int, paused bool) *client {
	t.Helper()
	c := &client{names: &names{hosts: map[string][]string{}}, t: t}
	cfg := conn.Config{LingerTimeout: 200 * time.Millisecond}
	cfg.Reactor.Backend = backend
	testmode.EndlessParks.Store(true)
	defer testmode.EndlessParks.Store(false)
	var err error
	c.group, err = conn.NewGroup(cfg, sched.Config{Workers: workers, Paused: paused})
	require.NoError(t, err)
	require.NoError(t, c.group.Runtime().Start())
	if paused {
		c.group.Runtime().HoldClock()
	}
	threads := blocking.New(blocking.Config{KeepAlive: -1})
	c.Dialer = server.Dialer{Group: func() *conn.Group { return c.group }, Resolver: c.names, Threads: threads}
	t.Cleanup(func() {
		c.group.Abort()
		ctx, cancel := context.WithTimeout(context.Background(), conntest.Patience)
		defer cancel()
		if err := c.group.Wait(ctx); err != nil {
			t.Errorf("%v\n%s", err, conntest.Dump())
		}
		require.NoError(t, c.group.Close())
		require.NoError(t, threads.Shutdown(ctx))
	})
	return c
}

func (c *client) advance(d time.Duration) { c.group.Runtime().Advance(d) }

// told is a handler that tells what it is told, of one connection.
type told struct {
	server.Base
	opened chan *server.Conn
	data   chan string
	closed chan error
}

func newTold() *told {
	return &told{opened: make(chan *server.Conn, 1), data: make(chan string, 100), closed: make(chan error, 1)}
}

func (h *told) OnOpen(c *server.Conn) error { // a second one blocks, and the test hangs
	h.opened <- c
	return nil
}

func (h *told) OnData(c *server.Conn) error {
	p, _ := c.Next(-1)
	h.data <- string(p)
	return nil
}

func (h *told) OnClose(_ *server.Conn, err error) { h.closed <- err }

// failed is the error of a dial that must fail, and the only thing that is told.
func (h *told) failed(t *testing.T) error {
	t.Helper()
	select {
	case err := <-h.closed:
		require.Empty(t, h.opened)
		var op *net.OpError
		require.ErrorAs(t, err, &op)
		require.Equal(t, "dial", op.Op)
		return err
	case <-h.opened:
		t.Fatal("OnOpen was called")
	case <-time.After(conntest.Patience):
		t.Fatal("neither OnOpen nor OnClose\n" + conntest.Dump())
	}
	return nil
}

func (h *told) next(t *testing.T, want string) {
	t.Helper()
	got := ""
	for len(got) < len(want) {
		got += conntest.Receive(t, h.data)
	}
	require.Equal(t, want, got)
}

// listener echoes on an address of this machine until the end of the test.
type listener struct {
	net.Listener
	mu    sync.Mutex
	conns []net.Conn
	got   []byte
}

func listenEcho(t *testing.T, network, addr string) *listener {
	t.Helper()
	ln, err := net.Listen(network, addr)
	require.NoError(t, err)
	return serveEcho(t, ln)
}

func serveEcho(t *testing.T, ln net.Listener) *listener {
	l := &listener{Listener: ln}
	var all sync.WaitGroup
	stopped := make(chan struct{})
	all.Go(func() {
		defer close(stopped)
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			l.mu.Lock()
			l.conns = append(l.conns, c)
			l.mu.Unlock()
			all.Go(func() {
				p := make([]byte, 4096)
				for {
					n, err := c.Read(p)
					if err != nil {
						_ = c.Close()
						return
					}
					l.mu.Lock()
					l.got = append(l.got, p[:n]...)
					l.mu.Unlock()
					_, _ = c.Write(p[:n])
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		<-stopped
		l.closeAll()
		all.Wait()
	})
	return l
}

func (l *listener) closeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.conns {
		_ = c.Close()
	}
	l.conns = nil
}

// accepted is how many connections there have been since closeAll.
func (l *listener) accepted() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.conns)
}

func (l *listener) received() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.got)
}

func (l *listener) port() int { return l.Addr().(*net.TCPAddr).Port }

// both are sockets on the same port of [::1] and 127.0.0.1.
func both(t *testing.T) (six, four *conntest.Hole) {
	t.Helper()
	for range 100 {
		four = conntest.NewHole(t, netip.MustParseAddrPort("127.0.0.1:0"))
		six = conntest.NewHole(t, netip.AddrPortFrom(netip.IPv6Loopback(), uint16(four.Port())))
		if six != nil {
			return six, four
		}
	}
	t.Fatal("no port that is free on both")
	return
}

// sockets is how many the process has open.
func sockets() (n int) {
	for _, d := range conntest.Descriptors() {
		if strings.Contains(d, ":socket:") {
			n++
		}
	}
	return n
}

func at(host string, port int) string { return net.JoinHostPort(host, fmt.Sprint(port)) }
