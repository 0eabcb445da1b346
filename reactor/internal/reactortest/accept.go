package reactortest

import (
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/reactor"
)

var accepting = []behavior{
	{"accepts many connections with one operation", testAcceptMany},
	{"accepts connections that came before the operation", testAcceptBacklog},
	{"accepts again after descriptors had run out", testAcceptExhausted},
	{"a connection reset in the backlog does not end the accepting", testAcceptAborted},
}

const crowd = 150 // more than any backend takes in one turn

func testAcceptMany(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	fd, to := listenSocket(t, "tcp")
	e := l.add(fd)
	e.accept()
	for range 2 { // the second time the operation has been in flight for long
		dialed := inBackground(func() error { return dialMany(to, crowd) })
		l.until("all connections", func() bool { return len(e.conns) == crowd })
		require.NoError(t, <-dialed)
		l.settle()
		requireDistinct(t, e.conns, crowd)
		for _, conn := range e.conns {
			l.add(conn).close()
		}
		e.conns = nil
	}
}

func testAcceptBacklog(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	fd, to := listenSocket(t, "tcp")
	e := l.add(fd)
	c := dial(t, to)
	for range crowd { // they stay open: a closed one could be reset, unnoticed, by the next connection from its port
		dial(t, to)
	}
	e.accept()
	l.until("all connections", func() bool { return len(e.conns) == crowd+1 })
	requireDistinct(t, e.conns, crowd+1)

	if p := e.peers[0]; p.IsValid() { // otherwise the backend did not get it
		require.Equal(t, c.LocalAddr().String(), p.String())
	}
	first := l.add(e.conns[0]) // they come in order, and this one works
	first.recv()
	write(t, c, "hello")
	l.until("data", func() bool { return string(first.data) == "hello" })
	for _, conn := range e.conns[1:] {
		l.add(conn).close()
	}
}

func testAcceptExhausted(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	for range 20 { // by then the backend has opened the descriptors that it opens on first use
		l.poll(shortHold, true)
	}
	fd, to := listenSocket(t, "tcp")
	e := l.add(fd)
	require.NoError(t, dialMany(to, 3))
	restore := exhaust(t, 1)
	e.accept()
	l.until("the lack of descriptors to show", func() bool { return len(e.ends[reactor.Accept]) > 0 && !e.flying[reactor.Accept] })
	restore()
	require.Equal(t, syscall.EMFILE, e.errno(reactor.Accept))
	require.Len(t, e.conns, 1, "there was room for one")
	e.accept()
	l.until("the other connections", func() bool { return len(e.conns) == 3 })
	l.settle()
	requireDistinct(t, e.conns, 3)
	for _, conn := range e.conns {
		l.add(conn).close()
	}
}

func testAcceptAborted(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	fd, to := listenSocket(t, "tcp")
	e := l.add(fd)
	for range 5 {
		reset(t, dial(t, to))
	}
	e.accept()
	c := dial(t, to)
	write(t, c, "alive")
	// Linux returns a reset connection all the same; others may not.
	found := func() bool {
		for _, conn := range e.conns {
			in := l.add(conn)
			in.recv()
		}
		e.conns = nil
		for _, in := range l.endpoints {
			if string(in.data) == "alive" {
				return true
			}
		}
		return false
	}
	l.until("the connection that was not reset", found)
	require.True(t, e.flying[reactor.Accept])
}

func dialMany(to net.Addr, n int) error {
	for range n {
		c, err := net.Dial(to.Network(), to.String())
		if err != nil {
			return err
		}
		if err = c.Close(); err != nil {
			return err
		}
	}
	return nil
}

func requireDistinct(t *testing.T, fds []int, n int) {
	t.Helper()
	seen := map[int]bool{}
	for _, fd := range fds {
		require.False(t, seen[fd], "descriptor %d was handed out twice", fd)
		seen[fd] = true
	}
	require.Len(t, fds, n)
}
