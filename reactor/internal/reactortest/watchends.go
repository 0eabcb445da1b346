package reactortest

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/patience"
	"github.com/suiro-go/suiro/reactor"
)

var watchEnds = []behavior{
	{"a canceled watch ends once, and the descriptor can be watched again", testWatchCancel},
	{"a cancel that meets edges ends a watch once, and nothing is lost", testWatchCancelRace},
	{"a watch follows a receive, and a receive a watch", testWatchAndRecv},
	{"a close ends a watch, also one that was never polled", testWatchClose},
	{"Close runs closes of watched descriptors", testWatchClosePending},
	{"a descriptor that is none ends its watch", testWatchBad},
}

func testWatchCancel(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	e, peer := l.pair("tcp")
	for i := range 10 {
		e.edge = 0
		e.watch()
		if i%2 == 0 { // else both are submitted in one batch
			e.awaitEdge(out)
		}
		e.stopWatch()
		told := e.told
		write(t, peer, "x")
		l.settle()
		require.Len(t, e.ends[reactor.Watch], i+1)
		require.Equal(t, told, e.told, "an edge after the end")
	}
	e.edge = 0
	e.watch()
	e.awaitEdge(in | out)
	e.readEdges(10)
	require.Equal(t, "xxxxxxxxxx", string(e.data))
	for range 3 { // cancels of other kinds, and of another generation
		e.cancel(reactor.Recv)
		e.cancelFormer()
	}
	l.settle()
	require.True(t, e.flying[reactor.Watch])
	write(t, peer, "y")
	e.readEdges(11)
}

func testWatchCancelRace(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	e, peer := l.pair("tcp")
	want := text(14, 1<<20)
	if reactor.Rewatches {
		want = want[:len(want)/8]
	}
	written := inBackground(func() error { return dribble(peer, want) })
	rnd := rand.New(rand.NewPCG(13, 14))
	for deadline := time.Now().Add(patience.Limit); len(e.data) < len(want); {
		require.True(t, time.Now().Before(deadline), "%d of %d bytes\n%s", len(e.data), len(want), l.dump())
		e.edge = 0
		e.watch()
		for range rnd.IntN(4) {
			l.poll(shortHold, true)
			if e.edge&in != 0 {
				e.drain()
			}
		}
		ends := len(e.ends[reactor.Watch])
		op := e.canceling()
		canceled := inBackground(func() error { return l.r.Submit(&op) })
		e.awaitEnd()
		require.NoError(t, <-canceled)
		require.Len(t, e.ends[reactor.Watch], ends+1)
	}
	require.NoError(t, <-written)
	requireSame(t, want, e.data)
}

func testWatchAndRecv(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	e, peer := l.pair("tcp")
	for i := range 10 {
		write(t, peer, "left ")
		e.recv()
		l.until("data", func() bool { return len(e.data) == 10*i+5 })
		e.stop(reactor.Recv)
		e.send([]byte("sent "))
		l.until("sent", func() bool { return !e.flying[reactor.Send] })
		if i%2 == 0 { // before the registration, and reported before it; else after it
			write(t, peer, "more ")
			l.settle()
		}
		e.edge = 0
		e.watch()
		e.awaitEdge(out)
		if i%2 == 1 {
			write(t, peer, "more ")
		}
		e.readEdges(10*i + 10)
		e.stopWatch()
	}
}

func testWatchClose(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	for i := range 9 {
		e, peer := l.pair("tcp")
		e.watch()
		if i%3 > 0 {
			e.awaitEdge(out)
		}
		if i%3 > 1 {
			write(t, peer, "an edge on its way")
		}
		if i%2 == 0 {
			e.closeWatched()
		} else { // any goroutine may close
			op := e.closing()
			op.NoWait = true
			l.submitElsewhere(op)
		}
		e.awaitCanceled()
		requireClosed(t, peer)
	}
	l.settle()
	l.idle()
}

func testWatchClosePending(t *testing.T, b Backend) {
	l := newLoop(t, b, tiny)
	ends, peers := l.pairs(local, 50)
	for i, e := range ends {
		e.watch()
		if i == 25 {
			l.poll(0, false)
		}
	}
	for _, e := range ends {
		e.closeWatched()
	}
	l.close() // without a Poll
	for _, c := range peers {
		requireEnded(t, c)
	}
}

func testWatchBad(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	fd, _ := listenSocket(t, "tcp")
	closeSocket(fd)
	for _, fd := range []int{fd, -1, 1<<30 + 4} {
		e := l.add(fd)
		e.watch()
		e.awaitEnd()
		require.NotZero(t, e.errno(reactor.Watch))
		e.fd = -1
	}
	l.settle()
}
