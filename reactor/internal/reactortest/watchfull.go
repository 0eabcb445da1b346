package reactortest

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/faults"
	"github.com/suiro-go/suiro/reactor"
)

var watchFull = []behavior{
	{"no edge is lost when the ring is full of them", testWatchFull},
	{"no edge is lost when the ring is full of them and the kernel drops some", testWatchFullLoss},
}

// testWatchFull lets many more edges come than the rings hold, while nobody polls.
func testWatchFull(t *testing.T, b Backend) { full(t, newLoop(t, b, tiny)) }

func testWatchFullLoss(t *testing.T, b Backend) {
	l, plan, ended := newLosing(t, b, tiny, faults.Rule{Every: 100})
	full(t, l)
	require.NotZero(t, plan.Injected(faults.Complete, syscall.ENOMEM))
	require.Zero(t, *ended, "no watch has ended")
}

func full(t *testing.T, l *loop) {
	t.Helper()
	const n = 300
	ends, peers := l.watched(local, n)
	for _, e := range ends {
		e.awaitEdge(out)
	}
	for round := range 4 {
		for i, c := range peers {
			ends[i].cancelFormer()
			write(t, c, "some")
		}
		enterKernel(t)
		if round == 2 { // those that have lost their poll as well as the others
			for _, e := range ends[:n/2] {
				e.cancel(reactor.Watch)
			}
			l.awaitEnds(ends[:n/2])
			for _, e := range ends[:n/2] {
				require.Len(t, e.ends[reactor.Watch], 1)
				e.edge = 0
				e.watch()
			}
		}
		for _, e := range ends {
			e.readEdges(4 * (round + 1))
		}
	}
	for _, e := range ends {
		require.True(t, e.flying[reactor.Watch])
		e.closeWatched()
	}
	l.awaitEnds(ends)
	l.idle()
	for _, c := range peers {
		requireClosed(t, c)
	}
}
