package sched

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestALookWakesAParkedWorkerForOneThatIsStuck(t *testing.T) {
	rt := New(Config{Workers: 3, NewDriver: func(int) (Driver, error) { return nil, nil }})
	woken := make([]wakeCounter, 3)
	for i, w := range rt.workers {
		w.driver = &woken[i]
		w.tickAt.Store(int64(rt.Now() + time.Hour)) // however long the test is kept from running
		w.parker.looking()
		require.True(t, w.parker.tryPark())
		if i > 0 {
			rt.idle.park(i, false)
		}
	}
	rt.idle.searching.Store(1) // as a worker that is stuck in a hook
	rt.slow.look()
	require.Equal(t, []wakeCounter{{}, {}, {}}, woken, "nobody is stuck")
	rt.workers[0].tickAt.Store(int64(rt.Now() - time.Hour))
	rt.slow.look()
	require.Equal(t, []wakeCounter{{}, {n: 1}, {}}, woken)
	require.Equal(t, lookForStuck, rt.slow.pause())
}

type wakeCounter struct {
	Driver
	n int
}

func (d *wakeCounter) Wake() { d.n++ }
