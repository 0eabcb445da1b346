package reactortest

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/patience"
)

// networks are the networks on which every transfer is tried.
var networks = []string{"tcp", "tcp6", "unix"}

func requireNetwork(t testing.TB, network string) {
	t.Helper()
	if why := lacksNetwork(network); why != "" {
		t.Skip(why)
	}
}

// address returns an address with a free port to listen on.
func address(t testing.TB, network string) string {
	switch network {
	case "tcp6":
		return "[::1]:0"
	case "unix":
		return filepath.Join(t.TempDir(), "socket")
	default:
		return "127.0.0.1:0"
	}
}

func listen(t testing.TB, network string) net.Listener {
	t.Helper()
	ln, err := net.Listen(network, address(t, network))
	require.NoError(t, err)
	t.Cleanup(func() { _ = ln.Close() }) // a test may have closed it
	return ln
}

// pair returns the two ends of a connection: the first belongs to the loop, the second to the test.
func (l *loop) pair(network string) (*endpoint, net.Conn) {
	l.t.Helper()
	ends, peers := l.pairs(network, 1)
	return ends[0], peers[0]
}

func (l *loop) pairs(network string, n int) ([]*endpoint, []net.Conn) {
	l.t.Helper()
	ln := listen(l.t, network)
	ends, peers := make([]*endpoint, n), make([]net.Conn, n)
	for i := range n {
		ends[i] = l.add(dialSocket(l.t, network, ln.Addr()))
		peers[i] = accept(l.t, ln)
	}
	require.NoError(l.t, ln.Close())
	return ends, peers
}

func accept(t testing.TB, ln net.Listener) net.Conn {
	t.Helper()
	c, err := ln.Accept()
	require.NoError(t, err)
	return prepared(t, c)
}

// accept accepts the peer of a connection, which may need more polls of the loop.
func (l *loop) accept(ln net.Listener) (c net.Conn) {
	l.t.Helper()
	var ready atomic.Bool
	accepted := inBackground(func() (err error) {
		defer func() { ready.Store(true); _ = l.r.Wake() }()
		c, err = ln.Accept()
		return err
	})
	l.until("a connection", ready.Load)
	require.NoError(l.t, <-accepted)
	return prepared(l.t, c)
}

func dial(t testing.TB, to net.Addr) net.Conn {
	t.Helper()
	c, err := net.Dial(to.Network(), to.String())
	require.NoError(t, err)
	return prepared(t, c)
}

func prepared(t testing.TB, c net.Conn) net.Conn {
	t.Helper()
	require.NoError(t, c.SetDeadline(time.Now().Add(patience.Limit)))
	t.Cleanup(func() { _ = c.Close() }) // a test may have closed it
	return c
}

func write(t testing.TB, c net.Conn, p string) {
	t.Helper()
	_, err := io.WriteString(c, p)
	require.NoError(t, err)
}

// dribble writes in pieces of random sizes.
func dribble(c net.Conn, p []byte) error {
	for len(p) > 0 {
		n := min(len(p), 1+rand.IntN(3000))
		if _, err := c.Write(p[:n]); err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// read requires exactly these bytes from the peer.
func read(t testing.TB, c net.Conn, want string) {
	t.Helper()
	got := make([]byte, len(want))
	_, err := io.ReadFull(c, got)
	require.NoError(t, err)
	require.Equal(t, want, string(got))
}

// discard reads so many bytes as the peer.
func discard(t testing.TB, c net.Conn, n int) {
	t.Helper()
	_, err := io.CopyN(io.Discard, c, int64(n))
	require.NoError(t, err)
}

// requireClosed waits until the peer finds the connection closed, without a byte before.
func requireClosed(t testing.TB, c net.Conn) {
	t.Helper()
	_, err := c.Read(make([]byte, 1))
	require.Error(t, err, "it was not closed")
}

// requireEnded is requireClosed for a connection that has left no byte unread.
func requireEnded(t testing.TB, c net.Conn) {
	t.Helper()
	_, err := c.Read(make([]byte, 1))
	require.EqualError(t, err, "EOF")
}

// finish closes the peer's sending direction. The peer goes on reading.
func finish(t testing.TB, c net.Conn) {
	t.Helper()
	require.NoError(t, c.(interface{ CloseWrite() error }).CloseWrite())
}

// reset makes the peer reset the connection.
func reset(t testing.TB, c net.Conn) {
	t.Helper()
	require.NoError(t, c.(*net.TCPConn).SetLinger(0))
	require.NoError(t, c.Close())
}

// text returns n bytes that differ from one seed to the next.
func text(seed uint64, n int) []byte {
	var key [32]byte
	for i := range 8 {
		key[i] = byte(seed >> (8 * i))
	}
	p := make([]byte, n)
	_, _ = rand.NewChaCha8(key).Read(p) // never fails
	return p
}

// requireSame compares bytes without printing megabytes of them.
func requireSame(t testing.TB, want, got []byte) {
	t.Helper()
	if bytes.Equal(want, got) {
		return
	}
	i := 0
	for i < min(len(want), len(got)) && want[i] == got[i] {
		i++
	}
	t.Fatalf("%d bytes, want %d; they differ from byte %d on", len(got), len(want), i)
}

// inBackground runs fn beside the test and returns a channel with its result.
func inBackground(fn func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- fn() }()
	return done
}
