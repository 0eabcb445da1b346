package reactortest

import (
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/reactor"
)

var reusing = []behavior{
	{"nothing crosses to a reused descriptor", testReuse},
	{"completions carry the generation they were submitted with", testGenerations},
	{"a second descriptor keeps a closed socket's events away", testReuseDup},
	{"a socket comes back under the number it had", testReuseSame},
}

// Many connections end at once, and Poll reports some of the ends. A new connection with other data
// takes the number of each closed descriptor at once, while events of the old connections are still
// queued.
func testReuse(t *testing.T, b Backend) {
	l := newLoop(t, b, reactor.Config{Entries: 512, Buffers: 4, BufferSize: 16 << 10})
	l.out = make([]reactor.Completion, 3)
	const width, rounds = 25, 3
	numbers := map[int]int{}
	for round := range rounds {
		ends, peers := l.pairs("tcp", width)
		for i, e := range ends {
			e.recv()
			e.send(text(uint64(i), 10))
			write(t, peers[i], string(text(uint64(round*width+i), 200)))
			if i%3 == 0 {
				reset(t, peers[i])
			} else {
				require.NoError(t, peers[i].Close())
			}
		}
		live := width
		for i, e := range ends {
			numbers[e.fd]++
			l.until("the end of the old connection", func() bool { return !e.inFlight() })
			if i%3 != 0 {
				requireSame(t, text(uint64(round*width+i), 200), e.data)
			}
			e.close()
			live--

			next, peer := l.pair(local)
			numbers[next.fd]++
			next.recv()
			write(t, peer, "new")
			l.until("data of the new connection", func() bool { return len(next.data) == 3 })
			require.Equal(t, "new", string(next.data))
			next.send([]byte("newer"))
			l.until("sent", func() bool { return next.sent == 5 })
			read(t, peer, "newer")
			for _, c := range next.ends[reactor.Recv] {
				require.True(t, c.Res > 0 || c.Errno() == syscall.ENOBUFS, "the new connection has not ended: %v", c)
			}
			next.stop(reactor.Recv)
			next.close()
		}
		require.Zero(t, live)
	}
	most := 0
	for _, n := range numbers {
		most = max(most, n)
	}
	require.Greater(t, most, rounds, "no number was reused: this test shows nothing")
}

func testGenerations(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	index := uint32(reactor.MaxIndex)
	for _, generation := range []uint32{0, 1, 2, 1<<31 - 1, 1 << 31, 1<<32 - 1} {
		ln := listen(t, "tcp")
		e := l.addAs(dialSocket(t, "tcp", ln.Addr()), reactor.MakeToken(index, generation))
		peer := accept(t, ln)
		e.recv()
		e.send([]byte("x"))
		write(t, peer, "y")
		l.until("sent and received", func() bool { return e.sent == 1 && len(e.data) == 1 })
		e.stop(reactor.Recv)
		require.Equal(t, e.token, e.ends[reactor.Recv][0].Token)
		e.close()
	}
	l.settle()
}

// The kernel goes on reporting a closed descriptor's socket while another descriptor of it is open.
func testReuseDup(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	l.settle()
	e, peer := l.pair("tcp")
	e.recv()
	write(t, peer, "to the old one")
	l.until("data", func() bool { return len(e.data) == 14 })
	e.stop(reactor.Recv)
	next, nextPeer := l.takeNumber(e, e.close)
	next.recv()
	shrink(t, next.fd)
	next.send(text(9, 2<<20))
	l.settle()
	write(t, peer, "stale")
	finish(t, peer)
	l.settle()
	require.Empty(t, next.data)
	require.Empty(t, next.ends[reactor.Recv])
	write(t, nextPeer, "fresh")
	l.until("data", func() bool { return string(next.data) == "fresh" })
	l.idle()
}

// takeNumber calls closes, which closes e's descriptor. Another descriptor of the socket stays
// open. takeNumber returns a connection whose descriptor has the freed number.
func (l *loop) takeNumber(e *endpoint, closes func()) (next *endpoint, peer net.Conn) {
	l.t.Helper()
	fd := e.fd
	dup := dupSocket(l.t, fd)
	l.t.Cleanup(func() { closeSocket(dup) })
	ln := listen(l.t, "tcp")
	closes()
	l.settle()
	next = l.add(dialSocket(l.t, "tcp", ln.Addr()))
	if !leavesNumbers {
		require.Equal(l.t, fd, next.fd, "the number was not reused: this test shows nothing")
	}
	return next, accept(l.t, ln)
}

// dupSocketAs returns a second descriptor of the socket, with a number that has just been closed.
// On systems that do not assign numbers in order, it is any number: there testReuse covers reused
// numbers.
func dupSocketAs(t testing.TB, fd, number int) int {
	t.Helper()
	dup := dupSocket(t, fd)
	if !leavesNumbers {
		require.Equal(t, number, dup, "the number was not reused: this test shows nothing")
	}
	return dup
}

// This happens when a listener's descriptor is duplicated for each of two servers, one after the
// other.
func testReuseSame(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	l.settle()
	fd, to := listenSocket(t, "tcp")
	defer closeSocket(fd)
	number := -1
	for range 3 {
		if number < 0 {
			number = dupSocket(t, fd)
		} else {
			number = dupSocketAs(t, fd, number)
		}
		e := l.add(number)
		dialed := dial(t, to) // before the operation: no new event will report it
		e.accept()
		l.until("a connection", func() bool { return len(e.conns) == 1 })
		l.add(e.conns[0]).close()
		require.NoError(t, dialed.Close())
		e.stop(reactor.Accept)
		e.close()
		l.settle()
	}
}
