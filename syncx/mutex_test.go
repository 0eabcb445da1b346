package syncx_test

import (
	"context"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/syncx"
)

func TestAMutexWhoseWaiterTimedOutCanStillBeLocked(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		var mu syncx.Mutex
		require.True(t, mu.TryLock())
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		require.Equal(t, context.DeadlineExceeded, mu.Lock(ctx), "a goroutine")
		_, err := outcome(t, sched.Spawn(rt, sched.Timeout(time.Millisecond, mu.LockFuture())))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded, "a stackless task")
		_, err = outcome(t, sched.Go(rt, func(cx *sched.Context) (struct{}, error) {
			return sched.Await(cx, sched.Timeout(time.Millisecond, mu.LockFuture()))
		}))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded, "a stackful task")
		require.Zero(t, mu.Waiters())
		mu.Unlock()
		for _, f := range forms {
			require.NoError(t, locking(&mu).begin(rt, f, mu.Unlock).result(t))
		}
		require.True(t, mu.AtRest())
	})
}

func TestAMutexIsLockedInTheOrderInWhichTheyCameToWait(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		var mu syncx.Mutex
		require.True(t, mu.TryLock())
		var order []int
		var waits []*wait
		for i := range 30 {
			waits = append(waits, locking(&mu).begin(rt, forms[i%len(forms)], func() {
				order = append(order, i)
				mu.Unlock()
			}))
			eventually(t, "it waits", func() bool { return mu.Waiters() == i+1 })
		}
		waits[7].giveUp()
		require.ErrorIs(t, waits[7].result(t), context.Canceled)
		mu.Unlock()
		for i, w := range waits {
			if i != 7 {
				require.NoError(t, w.result(t))
			}
		}
		require.Len(t, order, 29)
		require.IsIncreasing(t, order)
		require.True(t, mu.AtRest())
	})
}

// While the first waiter is about to run, others may take the lock, but not forever. If the waiter
// polls in vain, the next unlock hands over to it.
func TestAMutexHandsOverWhenItHasBeenOvertakenOftenEnough(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	var mu syncx.Mutex
	_, err := outcome(t, sched.Spawn(rt, sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
		first, second := mu.LockFuture(), mu.LockFuture()
		require.True(t, mu.TryLock())
		for _, f := range []sched.Future[struct{}]{first, second} {
			_, err := f.Poll(cx)
			require.Equal(t, sched.ErrPending, err)
		}
		mu.Unlock()
		for range syncx.MutexPasses() {
			require.True(t, mu.TryLock(), "the first is on its way")
			mu.Unlock()
		}
		require.False(t, mu.TryLock(), "it is the first's")
		_, err := second.Poll(cx)
		require.Equal(t, sched.ErrPending, err)
		_, err = first.Poll(cx)
		require.NoError(t, err)

		mu.Unlock()
		require.True(t, mu.TryLock())
		_, err = second.Poll(cx)
		require.Equal(t, sched.ErrPending, err, "it has come in vain")
		mu.Unlock()
		require.False(t, mu.TryLock(), "it is the second's")
		_, err = second.Poll(cx)
		require.NoError(t, err)
		mu.Unlock()
		return 0, nil
	})))
	require.NoError(t, err)
	require.True(t, mu.AtRest())
}

func TestAMutexThatWasGivenToOneWhoGivesUpGoesOn(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	for name, passes := range map[string]int{"summoned": 0, "handed over": syncx.MutexPasses()} {
		t.Run(name, func(t *testing.T) {
			var mu syncx.Mutex
			_, err := outcome(t, sched.Spawn(rt, sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
				first, second := mu.LockFuture(), mu.LockFuture()
				require.True(t, mu.TryLock())
				_, _ = first.Poll(cx)
				_, _ = second.Poll(cx)
				mu.Unlock()
				for range passes {
					require.True(t, mu.TryLock())
					mu.Unlock()
				}
				abandon(first)
				_, err := second.Poll(cx)
				require.NoError(t, err)
				mu.Unlock()
				return 0, nil
			})))
			require.NoError(t, err)
			require.True(t, mu.AtRest())
		})
	}
}

func TestUnlockOfWhatIsNotLockedPanics(t *testing.T) {
	var mu syncx.Mutex
	require.Contains(t, panicOf(mu.Unlock), "not locked")
	require.Contains(t, panicOf(func() { mu.Unlock() }), "not locked")
	var rw syncx.RWMutex
	require.Contains(t, panicOf(rw.Unlock), "not locked for writing")
	require.Contains(t, panicOf(rw.RUnlock), "not locked for reading")
	require.True(t, rw.TryRLock())
	require.Contains(t, panicOf(rw.Unlock), "not locked for writing")
	rw.RUnlock()
	require.True(t, rw.TryLock())
	require.Contains(t, panicOf(rw.RUnlock), "not locked for reading")
	rw.Unlock()
	require.True(t, mu.AtRest() && rw.AtRest(), "the panics changed nothing")
}

// The wake-up goes to the task that polled last.
func TestAFutureThatMovesToAnotherTaskWakesThatOne(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		var mu syncx.Mutex
		require.True(t, mu.TryLock())
		f := mu.LockFuture()
		_, err := outcome(t, sched.Spawn(rt, sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
			_, err := f.Poll(cx)
			require.Equal(t, sched.ErrPending, err)
			return 0, nil
		})))
		require.NoError(t, err)
		polled := make(chan struct{}, 10)
		h := sched.Spawn(rt, sched.FutureFunc[struct{}](func(cx *sched.Context) (struct{}, error) {
			v, err := f.Poll(cx)
			polled <- struct{}{}
			return v, err
		}))
		receive(t, "the second task polls", polled)
		mu.Unlock()
		_, err = outcome(t, h)
		require.NoError(t, err)
		mu.Unlock()
		require.True(t, mu.AtRest())
	})
}

func TestLockingInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu syncx.Mutex
		require.True(t, mu.TryLock())
		began := time.Now()
		go func() {
			time.Sleep(time.Hour)
			mu.Unlock()
		}()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.Equal(t, context.DeadlineExceeded, mu.Lock(ctx))
		require.NoError(t, mu.Lock(context.Background()))
		require.Equal(t, time.Hour, time.Since(began))
		mu.Unlock()
	})
}
