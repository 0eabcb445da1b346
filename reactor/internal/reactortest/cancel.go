package reactortest

import (
	"io"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/reactor"
)

var canceling = []behavior{
	{"a canceled receive ends once, and can be armed again", testCancelRecv},
	{"a canceled send ends once, and no byte is unaccounted for", testCancelSend},
	{"a canceled accept ends once, and no connection is lost", testCancelAccept},
	{"canceling nothing does no harm", testCancelNothing},
	{"canceling concerns one kind and one token only", testCancelOther},
	{"a receive canceled in the midst of data loses nothing", testCancelRace},
	{"a receive that has ended by itself is not ended again", testCancelEnded},
}

func testCancelRecv(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	e, peer := l.pair("tcp")
	for i := range 10 {
		e.recv()
		if i%2 == 0 { // else both are submitted in one batch
			l.settle()
		}
		e.stop(reactor.Recv)
		require.Equal(t, syscall.ECANCELED, e.errno(reactor.Recv))
		l.settle()
		require.Len(t, e.ends[reactor.Recv], i+1)
	}
	write(t, peer, "kept for later")
	l.settle()
	require.Empty(t, e.data)
	e.recv()
	l.until("data", func() bool { return string(e.data) == "kept for later" })
}

func testCancelSend(t *testing.T, b Backend) {
	l, e, peer, want := clogged(t, b, "tcp")
	before := len(e.ends[reactor.Send])
	e.stop(reactor.Send)
	l.settle()
	require.Len(t, e.ends[reactor.Send], before+1)

	sent := e.sent // the peer gets these bytes and then all that are sent from there on
	got := make([]byte, len(want))
	taken := inBackground(func() error { _, err := io.ReadFull(peer, got); return err })
	e.send(want[sent:])
	l.until("all sent", func() bool { return e.sent == len(want) })
	require.NoError(t, <-taken)
	requireSame(t, want, got)
}

func testCancelAccept(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	fd, to := listenSocket(t, "tcp")
	e := l.add(fd)
	const rounds = 30
	for i := range rounds {
		e.accept()
		if i%3 == 0 {
			l.settle()
		}
		if i%2 == 0 { // races the cancel
			require.NoError(t, dialMany(to, 1))
		}
		before := len(e.ends[reactor.Accept])
		e.stop(reactor.Accept)
		l.settle()
		require.Len(t, e.ends[reactor.Accept], before+1)
	}
	e.accept()
	l.until("every connection", func() bool { return len(e.conns) == rounds/2 })
	l.settle()
	requireDistinct(t, e.conns, rounds/2)
	for _, conn := range e.conns {
		l.add(conn).close()
	}
}

func testCancelNothing(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	e, peer := l.pair("tcp")
	all := func() {
		for _, k := range []reactor.Kind{reactor.Accept, reactor.Connect, reactor.Recv, reactor.Send} {
			e.cancel(k)
			e.cancel(k)
		}
		e.stopping = [reactor.Watch + 1]bool{}
	}
	all()
	l.settle()
	all()
	e.recv()
	e.send([]byte("ping"))
	l.until("sent", func() bool { return e.sent == 4 })
	write(t, peer, "pong")
	l.until("data", func() bool { return string(e.data) == "pong" })
	l.idle()
}

func testCancelOther(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	ends, peers := l.pairs("tcp", 2)
	for _, e := range ends {
		shrink(t, e.fd)
		e.recv()
		e.send(text(7, 2<<20))
	}
	l.settle()
	former := reactor.MakeToken(ends[0].token.Index(), 0)
	l.submit(reactor.Op{Kind: reactor.Cancel, Target: reactor.Recv, FD: ends[0].fd, Token: former})
	l.submit(reactor.Op{Kind: reactor.Cancel, Target: reactor.Send, FD: ends[0].fd, Token: former})
	ends[1].stop(reactor.Recv)
	l.settle()
	require.True(t, ends[0].flying[reactor.Recv])
	require.True(t, ends[0].flying[reactor.Send])
	require.True(t, ends[1].flying[reactor.Send])
	write(t, peers[0], "go on")
	l.until("data", func() bool { return string(ends[0].data) == "go on" })
	ends[0].stop(reactor.Send)
	l.settle()
	require.True(t, ends[0].flying[reactor.Recv])
	require.True(t, ends[1].flying[reactor.Send])
}

func testCancelRace(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	e, peer := l.pair("tcp")
	want := text(8, 1<<20)
	rnd := rand.New(rand.NewPCG(1, 2))
	written := inBackground(func() error { return dribble(peer, want) })
	for len(e.data) < len(want) {
		if !e.flying[reactor.Recv] {
			e.recv()
		}
		for range rnd.IntN(4) {
			l.poll(shortHold, true)
		}
		ends := len(e.ends[reactor.Recv])
		if e.flying[reactor.Recv] {
			e.stop(reactor.Recv)
			require.Len(t, e.ends[reactor.Recv], ends+1)
		}
	}
	require.NoError(t, <-written)
	requireSame(t, want, e.data)
	l.settle()
}

func testCancelEnded(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	for range 20 {
		e, peer := l.pair("tcp")
		e.recv()
		l.settle()
		require.NoError(t, peer.Close())
		e.cancel(reactor.Recv) // the end may be on its way already
		l.until("one end", func() bool { return !e.flying[reactor.Recv] })
		l.settle()
		require.Len(t, e.ends[reactor.Recv], 1)
		require.Contains(t, []syscall.Errno{0, syscall.ECANCELED}, e.errno(reactor.Recv))
		e.close()
	}
}
