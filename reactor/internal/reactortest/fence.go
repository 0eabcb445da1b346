package reactortest

import (
	"net"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/reactor"
)

// A fence is a listener of the loop. A connection to it is reported after all earlier events, and
// it takes no buffer.
type fence struct {
	l  *loop
	at *endpoint
	to net.Addr
}

func newFence(l *loop) *fence {
	l.t.Helper()
	fd, addr := listenSocket(l.t, "tcp")
	f := &fence{l: l, at: l.add(fd), to: addr}
	f.at.accept()
	return f
}

// pass makes two connections: a backend that serves in turn may report the newest event in the
// round in which it first sees it. The loss of a completion may end the accept, with a connection.
func (f *fence) pass() {
	f.l.t.Helper()
	for passed := 0; passed < 2; {
		if !f.at.flying[reactor.Accept] {
			f.at.accept()
		}
		c, err := net.Dial(f.to.Network(), f.to.String())
		require.NoError(f.l.t, err)
		f.l.until("a connection through the fence", func() bool {
			return len(f.at.conns) == 1 || !f.at.flying[reactor.Accept]
		})
		for _, fd := range f.at.conns {
			closeSocket(fd)
			passed++
		}
		f.at.conns = nil
		require.NoError(f.l.t, c.Close())
	}
}
