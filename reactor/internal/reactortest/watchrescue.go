package reactortest

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/reactor"
)

var watchRescue = []behavior{
	{"a rescuer finds edges, cancels and closes", testWatchRescue},
}

func testWatchRescue(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	ends, peers := l.watched("tcp", 3)
	for _, e := range ends {
		e.awaitEdge(out)
	}
	e, peer := ends[0], peers[0]
	for i := range 10 {
		write(t, peer, "x")
		l.rescueUntil("an edge", away, func() bool { return e.edge&in != 0 })
		e.drain()
		require.Len(t, e.data, i+1)
	}
	l.submitElsewhere(ends[1].canceling())
	l.rescueUntil("the end of a watch", away, func() bool { return !ends[1].flying[reactor.Watch] })
	require.Equal(t, syscall.ECANCELED, ends[1].errno(reactor.Watch))

	l.submitElsewhere(ends[2].closing())
	l.rescueUntil("the end of a watch", away, func() bool { return !ends[2].flying[reactor.Watch] })
	requireClosed(t, peers[2]) // by the rescuer

	// The owner finds all of that done.
	ends[1].edge = 0
	ends[1].watch()
	l.settle()
	for _, e := range ends[1:] {
		require.Len(t, e.ends[reactor.Watch], 1)
	}
	require.Equal(t, syscall.ECANCELED, ends[2].errno(reactor.Watch))
	write(t, peers[1], "again")
	ends[1].readEdges(5)
	l.settle()
	require.True(t, ends[1].flying[reactor.Watch], "the cancel was for the former one")
}
