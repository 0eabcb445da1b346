package reactortest

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/reactor"
)

var closing = []behavior{
	{"a closed reactor says so", testClosed},
	{"a Close operation closes, and in its place", testCloseOperation},
	{"Close gives every descriptor back", testCloseDescriptors},
	{"Close abandons what is in flight, at once", testCloseAbandons},
	{"Close hands back connections that nobody saw", testCloseAccepted},
	{"Close runs the Close operations that were submitted", testClosePending},
}

func testClosed(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	e, peer := l.pair("tcp")
	e.keep = true
	e.recv()
	write(t, peer, "x")
	l.until("data", func() bool { return len(e.data) == 1 })
	r, op := l.r, reactor.Op{Kind: reactor.Recv, FD: e.fd, Token: e.token}
	l.close()

	for range 2 {
		require.ErrorIs(t, r.Submit(&op), net.ErrClosed)
		require.ErrorIs(t, r.Submit(&reactor.Op{Kind: reactor.Close, FD: -1}), reactor.ErrClosed)
		n, err := r.Poll(make([]reactor.Completion, 1), 0, false)
		require.Zero(t, n)
		require.ErrorIs(t, err, net.ErrClosed)
		_, err = r.Poll(make([]reactor.Completion, 1), -1, true)
		require.ErrorIs(t, err, reactor.ErrClosed)
		n, err = r.Rescue(make([]reactor.Completion, 1))
		require.Zero(t, n)
		require.ErrorIs(t, err, reactor.ErrClosed)
		require.ErrorIs(t, r.Submit(&reactor.Op{Kind: reactor.Cancel, Target: reactor.Recv, FD: e.fd}), reactor.ErrClosed)
		require.ErrorIs(t, r.Close(), net.ErrClosed)
		require.ErrorIs(t, r.Close(), reactor.ErrClosed)
		require.NoError(t, r.Wake())
		require.NotPanics(t, func() { r.Release(e.kept[0].Buffer) })
	}
	require.NotEmpty(t, r.Name())
}

func testCloseOperation(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	e, peer := l.pair("tcp")
	e.send([]byte("last"))
	l.until("sent", func() bool { return e.sent == 4 })
	e.close()
	l.settle()
	read(t, peer, "last")
	n, err := peer.Read(make([]byte, 1))
	require.Zero(t, n)
	require.EqualError(t, err, "EOF")
}

func testCloseDescriptors(t *testing.T, b Backend) {
	newLoop(t, b, small).close() // the first reactor of a process opens descriptors that stay open
	before := descriptors(t)
	for range 5 {
		l := newLoop(t, b, small)
		l.settle()
		e, peer := l.pair("tcp")
		e.recv()
		l.settle()
		e.stop(reactor.Recv)
		e.close()
		l.settle()
		require.NoError(t, peer.Close())
		l.close()
		require.Equal(t, before, descriptors(t))
	}
}

// When Close returns, no operation of the reactor holds a socket or touches memory any more. A
// listener's port can be listened on again as soon as its descriptor is closed.
func testCloseAbandons(t *testing.T, b Backend) {
	unanswering := unansweringAddress(t)
	for range 10 {
		l := newLoop(t, b, small)
		fd, addr := listenSocket(t, "tcp")
		at := l.add(fd)
		at.accept()
		hangs := l.add(newSocket(t, "tcp"))
		hangs.connect(unanswering)
		e, peer := l.pair("tcp")
		shrink(t, e.fd)
		e.recv()
		e.send(text(14, 2<<20))
		l.until("the send to be short", func() bool { return e.shorts > 0 })
		write(t, peer, "unseen")
		l.close()
		again, _ := listenAt(t, "tcp", addr.(*net.TCPAddr), 1)
		closeSocket(again)
		require.NoError(t, peer.Close())
	}
}

func testCloseAccepted(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	l.out = make([]reactor.Completion, 1)
	before := descriptors(t)
	fd, addr := listenSocket(t, "tcp")
	at := l.add(fd)
	at.accept()
	l.poll(0, false) // armed
	var conns []net.Conn
	for range 10 {
		conns = append(conns, dial(t, addr))
	}
	l.until("one of them", func() bool { return len(at.conns) == 1 })
	closeSocket(at.conns[0])
	r := l.r
	l.close()
	for _, c := range conns {
		require.NoError(t, c.Close())
	}
	require.Less(t, descriptors(t), before+1, "connections were accepted that nobody will ever close (%s)", r.Name())
}

func testClosePending(t *testing.T, b Backend) {
	l := newLoop(t, b, tiny)
	ends, peers := l.pairs(local, 50)
	for _, e := range ends {
		e.close()
	}
	l.close() // without a Poll
	for _, c := range peers {
		requireEnded(t, c)
	}
}
