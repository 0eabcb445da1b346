package reactortest

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/faults"
	"github.com/suiro-go/suiro/reactor"
)

var watchFaults = []behavior{
	{"a watch whose registration fails ends with the error", testWatchRefused},
	{"a watch goes on when the kernel drops its completions", testWatchLoss},
	{"a canceled watch ends although the kernel drops its completions", testWatchLossCancel},
}

func testWatchRefused(t *testing.T, b Backend) {
	if faults.Of(&b.Config) != nil {
		t.Skip("the plan of this test is the only one")
	}
	if reactor.Rewatches {
		t.Skip("nothing can be refused here")
	}
	for _, errno := range []syscall.Errno{syscall.ENOMEM, syscall.ENOSPC, syscall.EAGAIN} {
		plan := faults.New(1, faults.Rule{Call: faults.Control, Errno: errno, Every: 1, Most: 2})
		faults.Into(&b.Config, plan)
		l := newLoop(t, b, small)
		ends, peers := l.pairs("tcp", 2)
		for i, e := range ends {
			write(t, peers[i], "here")
			e.watch()
		}
		for _, e := range ends {
			if errno == syscall.EAGAIN { // the harness submits it again, as every user must
				e.awaitEdge(in)
				continue
			}
			e.awaitEnd()
			require.Equal(t, errno, e.errno(reactor.Watch))
			require.Zero(t, e.told)
			e.watch()
			e.readEdges(4)
		}
		require.Equal(t, 2, plan.Injected(faults.Control, errno))
		l.close()
	}
}

func testWatchLoss(t *testing.T, b Backend) {
	l, plan, ended := newLosing(t, b, small, faults.Rule{Every: 3, Most: 40})
	ends, peers := l.watched("tcp", 10)
	for round := 0; plan.Injected(faults.Complete, syscall.ENOMEM) < 40; round++ {
		for _, c := range peers {
			write(t, c, "x")
		}
		for range round % 3 {
			l.dispatchAll(l.rescue())
		}
		for _, e := range ends {
			e.readEdges(round + 1)
		}
	}
	l.settle()
	require.Zero(t, *ended, "no watch has ended")
	for _, e := range ends {
		require.True(t, e.flying[reactor.Watch])
		e.stopWatch()
		require.Len(t, e.ends[reactor.Watch], 1)
	}
}

func testWatchLossCancel(t *testing.T, b Backend) {
	for round := range 12 {
		l, plan, _ := newLosing(t, b, small, faults.Rule{Every: 1 + round%4, Most: 3})
		ends, peers := l.pairs("tcp", 8)
		for i, e := range ends {
			e.watch()
			if i == 4 && round%2 == 0 {
				l.poll(0, false)
			}
		}
		for i, e := range ends {
			write(t, peers[i], "x")
			if i%2 == 0 {
				e.cancel(reactor.Watch)
			} else {
				e.closeWatched()
			}
		}
		if round%3 == 0 {
			l.dispatchAll(l.rescue())
		}
		l.awaitEnds(ends)
		l.settle()
		for i, e := range ends {
			require.Len(t, e.ends[reactor.Watch], 1)
			if i%2 == 1 {
				requireClosed(t, peers[i])
			}
		}
		require.Equal(t, 3, plan.Injected(faults.Complete, syscall.ENOMEM))
		l.close()
	}
}
