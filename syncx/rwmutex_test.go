package syncx_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/syncx"
)

func TestAReaderDoesNotOvertakeAWriterThatWaits(t *testing.T) {
	inEachForm(t, func(t *testing.T, rt *sched.Runtime, f form) {
		var rw syncx.RWMutex
		require.True(t, rw.TryRLock())
		require.True(t, rw.TryRLock(), "readers share it")
		var order []string
		writer := writing(&rw).begin(rt, f, func() {
			order = append(order, "writer")
			rw.Unlock()
		})
		eventually(t, "the writer waits", func() bool { return rw.Waiters() == 1 })
		require.False(t, rw.TryRLock(), "not before the writer")
		reader := reading(&rw).begin(rt, f, func() {
			order = append(order, "reader")
			rw.RUnlock()
		})
		eventually(t, "the reader waits", func() bool { return rw.Waiters() == 2 })
		rw.RUnlock()
		require.Equal(t, 2, rw.Waiters(), "a reader is left")
		rw.RUnlock()
		require.NoError(t, writer.result(t))
		require.NoError(t, reader.result(t))
		require.Equal(t, []string{"writer", "reader"}, order)
		require.True(t, rw.AtRest())
	})
}

func TestReadersBehindAWriterThatGivesUpComeIn(t *testing.T) {
	inEachForm(t, func(t *testing.T, rt *sched.Runtime, f form) {
		var rw syncx.RWMutex
		require.True(t, rw.TryRLock())
		writer := writing(&rw).begin(rt, f, nothing)
		eventually(t, "the writer waits", func() bool { return rw.Waiters() == 1 })
		var readers []*wait
		for range 70 { // more than are woken at a time
			readers = append(readers, reading(&rw).begin(rt, f, nothing))
		}
		eventually(t, "they wait", func() bool { return rw.Waiters() == 71 })
		last := writing(&rw).begin(rt, f, rw.Unlock)
		eventually(t, "another writer waits", func() bool { return rw.Waiters() == 72 })
		writer.giveUp()
		require.ErrorIs(t, writer.result(t), context.Canceled)
		for _, r := range readers {
			require.NoError(t, r.result(t))
		}
		require.Equal(t, 1, rw.Waiters())
		for range readers {
			rw.RUnlock()
		}
		require.Equal(t, 1, rw.Waiters(), "a reader is left")
		rw.RUnlock()
		require.NoError(t, last.result(t))
		require.True(t, rw.AtRest())
	})
}

func TestAnRWMutexIsHandedOverInTheOrderInWhichTheyCame(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		var rw syncx.RWMutex
		require.True(t, rw.TryLock())
		var mu sync.Mutex
		var order []int
		var waits []*wait
		turns := []int{0, 0, 1, 2, 2, 2, 3, 4, 5, 5} // readers that come together share a turn
		for i, turn := range turns {
			kind, unlock := writing(&rw), rw.Unlock
			if i > 0 && turns[i-1] == turn || i+1 < len(turns) && turns[i+1] == turn {
				kind, unlock = reading(&rw), rw.RUnlock
			}
			waits = append(waits, kind.begin(rt, forms[i%len(forms)], func() {
				mu.Lock()
				order = append(order, turn)
				mu.Unlock()
				unlock()
			}))
			eventually(t, "it waits", func() bool { return rw.Waiters() == i+1 })
		}
		rw.Unlock()
		for _, w := range waits {
			require.NoError(t, w.result(t))
		}
		require.Equal(t, turns, order)
		require.True(t, rw.AtRest())
	})
}

func TestAnRWMutexThatWasGivenToOneWhoGivesUpGoesOn(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	var rw syncx.RWMutex
	_, err := outcome(t, sched.Spawn(rt, sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
		require.True(t, rw.TryLock())
		fs := []sched.Future[struct{}]{rw.LockFuture(), rw.RLockFuture(), rw.LockFuture()}
		for _, f := range fs {
			_, err := f.Poll(cx)
			require.Equal(t, sched.ErrPending, err)
		}
		rw.Unlock()
		abandon(fs[0])
		abandon(fs[1])
		_, err := fs[2].Poll(cx)
		require.NoError(t, err)
		rw.Unlock()
		return 0, nil
	})))
	require.NoError(t, err)
	require.True(t, rw.AtRest())
}
