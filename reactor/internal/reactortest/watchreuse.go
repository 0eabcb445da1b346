package reactortest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/reactor"
)

var watchReuse = []behavior{
	{"no edge crosses to a reused descriptor", testWatchReuse},
	{"a second descriptor keeps a closed socket's edges away", testWatchReuseDup},
}

// Many watched connections end at once, with edges on their way. New ones take their numbers.
func testWatchReuse(t *testing.T, b Backend) {
	l := newLoop(t, b, reactor.Config{Entries: 512, Buffers: 4, BufferSize: 16 << 10})
	l.out = make([]reactor.Completion, 3)
	const width, rounds = 25, 3
	numbers := map[int]int{}
	for range rounds {
		ends, peers := l.pairs("tcp", width)
		for i, e := range ends {
			e.watch()
			write(t, peers[i], "old")
			if i%3 == 0 {
				reset(t, peers[i])
			}
		}
		for i, e := range ends {
			numbers[e.fd]++
			if i%2 == 0 {
				e.awaitEdge(out)
			}
			e.closeWatched()
			if i%4 > 1 {
				e.awaitCanceled()
			}
			next, peer := l.pair(local)
			numbers[next.fd]++
			next.watch()
			next.awaitEdge(out)
			l.poll(0, false)
			require.Zero(t, next.edge&^out, "an edge of the old connection")
			write(t, peer, "new")
			next.readEdges(3)
			require.Equal(t, "new", string(next.data))
			require.Zero(t, next.edge&(ended|erred))
			next.closeWatched()
			e.awaitCanceled()
			next.awaitCanceled()
		}
	}
	most := 0
	for _, n := range numbers {
		most = max(most, n)
	}
	require.Greater(t, most, rounds, "no number was reused: this test shows nothing")
}

func testWatchReuseDup(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	l.settle()
	e, peer := l.pair("tcp")
	e.watch()
	write(t, peer, "to the old one")
	e.readEdges(14)
	next, nextPeer := l.takeNumber(e, func() {
		e.closeWatched()
		e.awaitCanceled()
	})
	next.watch()
	next.awaitEdge(out)
	write(t, peer, "stale")
	finish(t, peer)
	l.settle()
	require.Zero(t, next.edge&^out)
	write(t, nextPeer, "fresh")
	next.readEdges(5)
	require.Equal(t, "fresh", string(next.data))
	l.idle()
}
