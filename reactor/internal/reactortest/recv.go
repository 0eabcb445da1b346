package reactortest

import (
	"testing"

	"syscall"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/reactor"
)

var receiving = []behavior{
	onNetworks("receives what comes in pieces", testRecvPieces),
	onNetworks("receives a stream larger than its buffers", testRecvStream),
	onNetworks("reports the end of the stream once", testRecvEnd),
	onNetworks("receives what was there before the operation", testRecvBefore),
	{"receives data and the end in one segment", testRecvDataAndEnd},
	{"reports a reset as an error", testRecvReset},
	{"urgent data does not hold the stream up", testRecvUrgent},
	{"descriptors sent along do not hold the stream up", testRecvRights},
	{"sends after the peer has finished", testRecvHalfClosed},
	{"serves all of many connections", testRecvMany},
	onNetworks("takes one buffer at a time if it is to", testRecvOne),
}

func testRecvPieces(t *testing.T, b Backend, network string) {
	l := newLoop(t, b, small)
	e, peer := l.pair(network)
	e.recv()
	want := ""
	for i := range 50 {
		piece := string(text(uint64(i), 1+i*17))
		want += piece
		write(t, peer, piece)
		l.until("the piece", func() bool { return len(e.data) == len(want) })
		require.Equal(t, want, string(e.data))
	}
}

func testRecvStream(t *testing.T, b Backend, network string) {
	l := newLoop(t, b, small)
	e, peer := l.pair(network)
	e.recv()
	want := text(1, 1<<20)
	written := inBackground(func() error { _, err := peer.Write(want); return err })
	l.until("the stream", func() bool { return len(e.data) >= len(want) })
	require.NoError(t, <-written)
	requireSame(t, want, e.data)
}

func testRecvEnd(t *testing.T, b Backend, network string) {
	l := newLoop(t, b, small)
	for _, settled := range []bool{true, false} {
		e, peer := l.pair(network)
		e.recv()
		if settled {
			l.settle()
		}
		require.NoError(t, peer.Close())
		l.until("the end", func() bool { return !e.flying[reactor.Recv] })
		require.True(t, e.eof())
		l.settle()
		require.Len(t, e.ends[reactor.Recv], 1)
		require.Empty(t, e.data)

		e.recv() // a repeated receive reports the end again
		l.until("the end, again", func() bool { return !e.flying[reactor.Recv] })
		require.True(t, e.eof())
		e.close()
	}
}

func testRecvBefore(t *testing.T, b Backend, network string) {
	l := newLoop(t, b, small)
	e, peer := l.pair(network)
	write(t, peer, "early")
	require.NoError(t, peer.Close())
	e.recv()
	l.until("data and the end", e.eof)
	require.Equal(t, "early", string(e.data))
}

func testRecvDataAndEnd(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	for i := range 60 {
		e, peer := l.pair("tcp")
		corked := i%2 == 0
		if corked {
			cork(t, peer)
		}
		switch i % 3 {
		case 0: // armed in the kernel
			e.recv()
			l.settle()
		case 1: // in one batch with the next operation
			e.recv()
		}
		write(t, peer, "last words")
		finish(t, peer)
		if i%3 == 2 {
			l.settle() // it has arrived before the operation
			e.recv()
		}
		l.until("data and the end", e.eof)
		require.Equal(t, "last words", string(e.data))
		require.NoError(t, peer.Close())
		e.close()
	}
}

func testRecvReset(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	for _, before := range []bool{false, true} {
		e, peer := l.pair("tcp")
		if before {
			if why := forgetsErrors(); why != "" {
				t.Skip("one that came before the operation: ", why)
			}
			reset(t, peer)
			e.recv()
		} else {
			e.recv()
			l.settle()
			reset(t, peer)
		}
		l.until("the reset", func() bool { return !e.flying[reactor.Recv] })
		require.Equal(t, syscall.ECONNRESET, e.errno(reactor.Recv))
		l.settle()
		require.Len(t, e.ends[reactor.Recv], 1)
		e.close()
	}
}

// A read stops short at urgent data, without having emptied the socket.
//
// On io_uring the peer goes on writing. The kernel's read fails with EAGAIN at the urgent mark if a
// signal is pending (tcp_recvmsg_locked), and Go's scheduler sends signals. A multishot receive
// then waits for the next segment, though there are bytes behind the mark.
func testRecvUrgent(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	e, peer := l.pair("tcp")
	for range 3 {
		e.data = nil
		want := "beforeafter"
		write(t, peer, "before")
		sendUrgent(t, peer)
		write(t, peer, "after")
		if !e.flying[reactor.Recv] {
			e.recv()
		}
		if b.Config.Backend == "io_uring" {
			for i := 0; i < 1000 && len(e.data) < len(want); i++ {
				write(t, peer, ".")
				want += "."
				l.settle()
			}
		}
		l.until("both sides of the urgent byte", func() bool { return len(e.data) >= len(want) })
		require.Equal(t, want, string(e.data))
	}
}

// A read of a Unix socket stops short behind the bytes that carried descriptors, without having
// emptied the socket.
func testRecvRights(t *testing.T, b Backend) {
	requireNetwork(t, "unix")
	l := newLoop(t, b, small)
	e, peer := l.pair("unix")
	for _, armed := range []bool{false, true} {
		e.data = nil
		for range 3 {
			sendRights(t, peer, "with")
			write(t, peer, "without")
		}
		if !armed {
			e.recv()
		}
		l.until("all bytes", func() bool { return len(e.data) >= 3*len("withwithout") })
		require.Equal(t, "withwithoutwithwithoutwithwithout", string(e.data))
	}
}

func testRecvHalfClosed(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	e, peer := l.pair("tcp")
	e.recv()
	finish(t, peer)
	l.until("the end", e.eof)
	e.send([]byte("still here"))
	l.until("sent", func() bool { return e.sent == 10 })
	read(t, peer, "still here")
}

func testRecvMany(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	ends, peers := l.pairs("tcp", 100)
	for _, e := range ends {
		e.recv()
	}
	for range 3 {
		for i, c := range peers {
			write(t, c, string(text(uint64(i), 300)))
		}
	}
	for _, c := range peers {
		finish(t, c)
	}
	l.until("all streams to their ends", func() bool { return !flying(ends, reactor.Recv) })
	for i, e := range ends {
		once := text(uint64(i), 300)
		requireSame(t, append(append(once[:300:300], once...), once...), e.data)
		require.True(t, e.eof())
	}
}

// A Recv with One takes at most one buffer of a long stream in each Poll.
func testRecvOne(t *testing.T, b Backend, network string) {
	l := newLoop(t, b, small)
	e, peer := l.pair(network)
	want := text(1, 3*small.BufferSize)
	write(t, peer, string(want))
	l.settle()
	e.one = true
	e.recv()
	last := 0
	l.until("the stream", func() bool { // called after each Poll
		require.LessOrEqual(t, len(e.data)-last, small.BufferSize)
		last = len(e.data)
		return last == len(want)
	})
	requireSame(t, want, e.data)
}
