package sched

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/dumptext"
)

// A watchedDepot has no tasks, and counts how often somebody looks for them.
type watchedDepot struct{ looks atomic.Int64 }

func (d *watchedDepot) endAll(error)                        {}
func (d *watchedDepot) countLiving()                        { d.looks.Add(1) }
func (d *watchedDepot) living() int                         { d.looks.Add(1); return 0 }
func (d *watchedDepot) survey(*dumptext.Text, *survey) bool { return true }

// The cost of a Shutdown does not grow with the number of tasks times the number of their ends.
func TestShutdownLooksAtAllTasksOnce(t *testing.T) {
	rt := New(Config{Workers: 1})
	const n = 50
	waits := make([]chan Waker, n)
	for i := range waits {
		waits[i] = make(chan Waker, 1)
		polled := false
		Spawn(rt, FutureFunc[int](func(cx *Context) (int, error) {
			if polled {
				return 0, nil
			}
			polled = true
			waits[i] <- cx.Waker()
			return 0, ErrPending
		}))
	}
	wakers := make([]Waker, n)
	for i := range waits {
		wakers[i] = <-waits[i]
	}
	d := new(watchedDepot)
	rt.depots.mu.Lock()
	rt.depots.byType[nil] = d
	rt.depots.mu.Unlock()
	shut := make(chan error, 1)
	go func() { shut <- rt.Shutdown(t.Context()) }()
	<-rt.Draining().Done()
	for _, w := range wakers {
		w.Wake()
	}
	require.NoError(t, <-shut)
	require.EqualValues(t, 1, d.looks.Load())
}
