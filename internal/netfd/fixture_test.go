package netfd_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/netfd"
	"github.com/suiro-go/suiro/internal/readiness"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/sched"
)

func TestMain(m *testing.M) { conntest.Share(m, 4) }

// A fixture is a group of workers.
type fixture struct {
	*testing.T
	group  *conn.Group
	engine *engine.Group
}

func newFixture(t *testing.T, backend string, workers int, configure ...func(*conn.Config)) *fixture {
	t.Helper()
	cfg := conn.Config{Logger: new(conntest.Log).Logger()}
	cfg.Reactor.Backend = backend
	for _, c := range configure {
		c(&cfg)
	}
	g, err := conn.NewGroup(cfg, sched.Config{Workers: workers})
	require.NoError(t, err)
	require.NoError(t, g.Runtime().Start())
	t.Cleanup(func() {
		conntest.Eventually(t, func() bool { return g.Len() == 0 })
		require.NoError(t, g.Close())
	})
	return &fixture{t, g, engine.Reveal(g)}
}

func matrix(t *testing.T, f func(f *fixture)) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) { f(newFixture(t, backend, workers)) })
}

// pair is a connection of package net and the FD at its other end.
func (f *fixture) pair(cx *sched.Context) (*netfd.FD, *net.TCPConn) {
	f.Helper()
	sysfd, peer := tcpPair(f.T)
	fd, err := netfd.Open(f.engine, cx, sysfd, netfd.TCP, false)
	require.NoError(f, err)
	f.Cleanup(func() { _ = fd.Close() })
	return fd, peer
}

// tcpPair is a descriptor and its peer, which package net has.
func tcpPair(t testing.TB) (int, *net.TCPConn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = ln.Close() }()
	c, err := net.Dial("tcp", ln.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	s, err := ln.Accept()
	require.NoError(t, err)
	defer func() { _ = s.Close() }()
	raw, err := s.(*net.TCPConn).SyscallConn()
	require.NoError(t, err)
	var sysfd int
	require.NoError(t, raw.Control(func(fd uintptr) { sysfd, err = sock.Duplicate(int(fd)) }))
	require.NoError(t, err)
	return sysfd, c.(*net.TCPConn)
}

// run runs fn as a task and waits for it.
func (f *fixture) run(fn func(cx *sched.Context) error) error {
	f.Helper()
	return f.wait(f.spawn(fn))
}

func (f *fixture) spawn(fn func(cx *sched.Context) error) *sched.JoinHandle[struct{}] {
	return sched.Go(f.group.Runtime(), func(cx *sched.Context) (struct{}, error) { return struct{}{}, fn(cx) })
}

func (f *fixture) wait(h *sched.JoinHandle[struct{}]) error {
	f.Helper()
	done := make(chan error, 1)
	go func() {
		_, err := h.Wait(f.Context())
		done <- err
	}()
	return conntest.Receive(f.T, done)
}

// noise is bytes that do not repeat.
var noise = func() []byte {
	p := make([]byte, 1<<20)
	for i := range p {
		p[i] = byte(i * i >> 7)
	}
	return p
}()

// waits waits until a call of a direction waits.
func (f *fixture) waits(fd *netfd.FD, d readiness.Direction) {
	f.Helper()
	conntest.Eventually(f, func() bool { return fd.Awaited(d) })
}
