package sched

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The looks end only after several in a row that found all workers parked, and no tick since the
// look before.
func TestTheLooksEndWhenNothingHasRunForTwoOfThem(t *testing.T) {
	rt := New(Config{Workers: 1, Spares: 1})
	w := rt.workers[0]
	s := &rt.slow
	look := func() (rests bool) {
		s.look()
		rests = s.mayRest()
		s.resting.Store(0)
		return rests
	}
	w.acknowledge()
	require.False(t, look(), "a worker runs")
	require.Equal(t, lookWhileCalm, s.pause())
	w.acknowledge()
	rt.idle.park(0, false)
	require.False(t, look(), "a worker has run")
	require.Equal(t, lookWhileQuiet, s.pause())
	require.False(t, look())
	w.acknowledge()
	require.False(t, look(), "a worker has run")
	require.False(t, look())
	require.True(t, look())
	require.False(t, look())
	rt.spares.lastStuck = rt.Now() + calmAfter // since then the looks are closer to each other
	require.Equal(t, lookForStuck, s.pause())
}

func TestALookWakesAParkedWorkerForOneThatIsStuck(t *testing.T) {
	rt := New(Config{Workers: 3, NewDriver: func(int) (Driver, error) { return nil, nil }})
	woken := make([]wakeCounter, 3)
	for i, w := range rt.workers {
		w.driver = &woken[i]
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
