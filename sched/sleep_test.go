package sched_test

import (
	"context"
	"math"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

func TestSleepIsDoneAtItsTickAndNotBefore(t *testing.T) {
	onBubbles(t, func(t *testing.T, rt *sched.Runtime) {
		for _, d := range []time.Duration{1, time.Millisecond, 1500 * time.Microsecond, time.Second, 100 * time.Hour} {
			at := rt.Now() + d
			h := sched.Spawn(rt, sched.Sleep(d))
			sleepUntil(rt, expiry(at)-1)
			require.False(t, h.Done(), "%v", d)
			sleepUntil(rt, expiry(at))
			require.True(t, h.Done(), "%v", d)
			require.Zero(t, rt.Timers())
		}
	})
}

func TestSleepUntilIsDoneAtThatTime(t *testing.T) {
	onBubbles(t, func(t *testing.T, rt *sched.Runtime) {
		at := rt.Now() + 1234*time.Millisecond
		h := sched.Go(rt, func(cx *sched.Context) (struct{}, error) { return sched.Await(cx, sched.SleepUntil(at)) })
		sleepUntil(rt, expiry(at)-1)
		require.False(t, h.Done())
		sleepUntil(rt, expiry(at))
		require.True(t, h.Done())
	})
}

func TestSleepForNoTimeIsDoneAtOnce(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	for _, f := range []sched.Future[struct{}]{
		sched.Sleep(0), sched.Sleep(-1), sched.Sleep(math.MinInt64), sched.SleepUntil(0), sched.SleepUntil(-time.Hour),
	} {
		polls := 0
		_, err := do(t, rt, sched.FutureFunc[struct{}](func(cx *sched.Context) (struct{}, error) {
			polls++
			return f.Poll(cx)
		}))
		require.NoError(t, err)
		require.Equal(t, 1, polls)
	}
}

func TestSleepForEverIsNotDone(t *testing.T) {
	onBubbles(t, func(t *testing.T, rt *sched.Runtime) {
		time.Sleep(time.Second) // otherwise the sum does not overflow
		h := sched.Spawn(rt, sched.Sleep(math.MaxInt64))
		time.Sleep(1000 * time.Hour)
		synctest.Wait()
		require.False(t, h.Done())
		h.Abort()
		synctest.Wait()
		require.True(t, h.Done())
		require.Zero(t, rt.Timers())
	})
}

// The time of the tick is then long past.
func TestSleepCountsFromItsFirstPollInALongTask(t *testing.T) {
	onBubbles(t, func(t *testing.T, rt *sched.Runtime) {
		s := sched.Sleep(10 * time.Millisecond)
		began := rt.Now()
		h := sched.Spawn(rt, sched.FutureFunc[struct{}](func(cx *sched.Context) (struct{}, error) {
			if rt.Now() == began {
				time.Sleep(50 * time.Millisecond)
			}
			return s.Poll(cx)
		}))
		sleepUntil(rt, began+60*time.Millisecond-1)
		require.False(t, h.Done())
		sleepUntil(rt, expiry(began+60*time.Millisecond))
		require.True(t, h.Done())
	})
}

func TestSleepInBlock(t *testing.T) {
	onBubbles(t, func(t *testing.T, rt *sched.Runtime) {
		began := rt.Now()
		_, err := sched.Block(t.Context(), rt, sched.Sleep(time.Second))
		require.NoError(t, err)
		require.Equal(t, expiry(began+time.Second), rt.Now())

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = sched.Block(ctx, rt, sched.Sleep(time.Minute))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Zero(t, rt.Timers(), "an abandoned one")
	})
}

func TestASleepInBlockEndsWithItsRuntime(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	failed := make(chan error, 1)
	go func() {
		_, err := sched.Block(context.Background(), rt, sched.Sleep(time.Hour))
		failed <- err
	}()
	eventually(t, "it sleeps", func() bool { return rt.Timers() == 1 })
	require.NoError(t, shut(t, rt))
	require.Equal(t, sched.ErrClosed, receive(t, "Block returns", failed))
	require.Zero(t, rt.Timers())
}

func TestSleepWakesTheTaskThatPolledItLast(t *testing.T) {
	onBubbles(t, func(t *testing.T, rt *sched.Runtime) {
		s := sched.Sleep(time.Second)
		polls := 0
		first := sched.Spawn(rt, sched.FutureFunc[struct{}](func(cx *sched.Context) (struct{}, error) {
			polls++
			return s.Poll(cx)
		}))
		synctest.Wait()
		second := sched.Spawn(rt, s)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.True(t, second.Done())
		require.False(t, first.Done())
		require.Equal(t, 1, polls)
	})
}

func TestSleepStaysWithTheRuntimeThatPolledItFirst(t *testing.T) {
	onBubbles(t, func(t *testing.T, rt *sched.Runtime) {
		time.Sleep(time.Hour) // the time of the second runtime begins now
		other := start(t, sched.Config{Workers: 1})
		s, began := sched.Sleep(time.Second), rt.Now()
		first := sched.Spawn(rt, sched.FutureFunc[struct{}](s.Poll))
		synctest.Wait()
		h := sched.Spawn(other, s)
		sleepUntil(rt, began+time.Second-1)
		require.False(t, h.Done())
		sleepUntil(rt, expiry(began+time.Second))
		require.True(t, h.Done())
		require.Zero(t, other.Timers())
		require.False(t, first.Done())
		require.NoError(t, other.Close())
	})
}

func TestTimeoutGivesTheResultOfAFutureThatIsInTime(t *testing.T) {
	onBubbles(t, func(t *testing.T, rt *sched.Runtime) {
		for _, want := range []error{nil, os.ErrNotExist} {
			p := new(probe[string])
			h := sched.Spawn(rt, sched.Timeout(time.Second, p))
			time.Sleep(time.Second / 2)
			p.finish("in time", want)
			v, err := h.Wait(t.Context())
			require.Equal(t, want, err)
			require.Equal(t, "in time", v)
			require.Zero(t, rt.Timers())
			require.Zero(t, p.cancels.Load())
		}
	})
}

func TestAValueThatIsReadyAtTheDeadlineIsTheTimeoutsResult(t *testing.T) {
	onBubbles(t, func(t *testing.T, rt *sched.Runtime) {
		h := sched.Spawn(rt, sched.Timeout(time.Second, sched.Sleep(time.Second)))
		_, err := h.Wait(t.Context())
		require.NoError(t, err)

		late := new(probe[string]) // nobody polls it before the deadline has passed
		at := rt.Now() + time.Second
		timeout := sched.TimeoutAt(at, late)
		h2 := sched.Spawn(rt, sched.FutureFunc[string](func(cx *sched.Context) (string, error) {
			v, err := timeout.Poll(cx)
			if err == sched.ErrPending {
				time.Sleep(time.Second)
				late.finish("late", nil)
			}
			return v, err
		}))
		v, err := h2.Wait(t.Context())
		require.NoError(t, err)
		require.Equal(t, "late", v)
	})
}

// While a task yields all the time, a bubble's time stands still.
func TestATimeoutExpiresThoughTheFutureIsAlwaysOutOfBudget(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		eater := sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
			for cx.Proceed() {
			}
			return 0, sched.ErrPending
		})
		_, err := do(t, rt, sched.Timeout(5*time.Millisecond, eater))
		require.Equal(t, sched.ErrTimeout, err)
		_, err = outcome(t, sched.Go(rt, func(cx *sched.Context) (int, error) {
			return sched.Await(cx, sched.Timeout(5*time.Millisecond, eater))
		}))
		require.Equal(t, sched.ErrTimeout, err)
	})
}

func TestATimeoutThatExpiresAbandonsTheFutureAndSaysSo(t *testing.T) {
	onBubbles(t, func(t *testing.T, rt *sched.Runtime) {
		p := new(probe[string])
		at := rt.Now() + time.Second
		h := sched.Spawn(rt, sched.TimeoutAt(at, p))
		sleepUntil(rt, expiry(at)-1)
		require.False(t, h.Done())
		sleepUntil(rt, expiry(at))
		require.True(t, h.Done())
		require.EqualValues(t, 1, p.cancels.Load())
		_, err := h.Wait(t.Context())
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.True(t, os.IsTimeout(err))
		var ne net.Error
		require.ErrorAs(t, err, &ne)
		require.True(t, ne.Timeout())
		require.Zero(t, rt.Timers())
	})
}

func TestATimeoutOfNoTimePollsTheFutureOnce(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	for _, d := range []time.Duration{0, -time.Second} {
		v, err := do(t, rt, sched.Timeout(d, ready("at once", nil)))
		require.NoError(t, err)
		require.Equal(t, "at once", v)
		p := new(probe[string])
		_, err = do(t, rt, sched.Timeout(d, p))
		require.Equal(t, sched.ErrTimeout, err)
		require.EqualValues(t, 1, p.polls.Load())
		require.EqualValues(t, 1, p.cancels.Load())
	}
}

func TestAnAbandonedTimeoutAbandonsItsFutureAndItsTimer(t *testing.T) {
	onBubbles(t, func(t *testing.T, rt *sched.Runtime) {
		p := new(probe[string])
		h := sched.Spawn(rt, sched.Timeout(time.Hour, p))
		synctest.Wait()
		require.Equal(t, 1, rt.Timers())
		h.Abort()
		synctest.Wait()
		require.Zero(t, rt.Timers())
		require.EqualValues(t, 1, p.cancels.Load())
	})
}
