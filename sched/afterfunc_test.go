package sched_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

func TestAfterFuncCallsItsFunctionAtItsTickAndNotBefore(t *testing.T) {
	onBubbles(t, func(t *testing.T, rt *sched.Runtime) {
		for _, d := range []time.Duration{1, time.Millisecond, 1500 * time.Microsecond, time.Second, 100 * time.Hour} {
			at := rt.Now() + d
			var calls atomic.Int64
			rt.AfterFunc(d, func() { calls.Add(1) })
			sleepUntil(rt, expiry(at)-1)
			require.Zero(t, calls.Load(), "%v", d)
			sleepUntil(rt, expiry(at))
			require.EqualValues(t, 1, calls.Load(), "%v", d)
			sleepUntil(rt, expiry(at)+time.Hour)
			require.EqualValues(t, 1, calls.Load(), "%v", d)
		}
	})
}

func TestAfterFuncForNoTimeCallsAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		for _, d := range []time.Duration{0, -time.Hour} {
			called := make(chan struct{})
			rt.AfterFunc(d, func() { close(called) })
			receive(t, "the function is called", called)
		}
	})
}

// Stop and Reset return the same results as those of time.Timer, step by step.
func TestStopAndResetAnswerAsThoseOfATimeTimer(t *testing.T) {
	onBubbles(t, func(t *testing.T, rt *sched.Runtime) {
		sleepUntil(rt, expiry(rt.Now())) // so that both expire in the same milliseconds
		var calls, want int
		var mu sync.Mutex
		count := func(n *int) func() {
			return func() {
				mu.Lock()
				defer mu.Unlock()
				*n++
			}
		}
		ours, model := rt.AfterFunc(time.Second, count(&calls)), time.AfterFunc(time.Second, count(&want))
		pass := func(d time.Duration) {
			time.Sleep(d)
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			require.Equal(t, want, calls)
		}
		require.Equal(t, model.Stop(), ours.Stop()) // in time
		require.Equal(t, model.Stop(), ours.Stop()) // again
		pass(2 * time.Second)
		require.Equal(t, model.Reset(time.Second), ours.Reset(time.Second))           // of a stopped timer
		require.Equal(t, model.Reset(3*time.Second), ours.Reset(3*time.Second))       // of a running timer
		pass(2 * time.Second)                                                         // not yet
		pass(time.Second)                                                             // now
		require.Equal(t, model.Stop(), ours.Stop())                                   // too late
		require.Equal(t, model.Reset(time.Millisecond), ours.Reset(time.Millisecond)) // once more
		pass(time.Hour)
		require.Equal(t, 2, calls)
	})
}

func TestAVirtualClockStandsStillWhileAfterFuncCalls(t *testing.T) {
	onPaused(t, func(t *testing.T, rt *sched.Runtime) {
		entered, leave := make(chan struct{}), make(chan struct{})
		var at, after time.Duration
		rt.AfterFunc(time.Hour, func() {
			at = rt.Now()
			close(entered)
			<-leave
			after = rt.Now()
		})
		later := make(chan struct{})
		rt.AfterFunc(2*time.Hour, func() { close(later) })
		receive(t, "the function is called", entered)
		for i := range rt.Workers() { // they have looked whether time may pass
			pass(t, rt, i)
		}
		require.Equal(t, time.Hour, rt.Now())
		close(leave)
		receive(t, "time passes", later)
		require.Equal(t, time.Hour, at)
		require.Equal(t, time.Hour, after)
	})
}

func TestAfterFuncOfARuntimeThatHasClosedCallsNothing(t *testing.T) {
	rt := sched.New(sched.Config{Workers: 1})
	pending := rt.AfterFunc(0, func() {})
	require.NoError(t, shut(t, rt))
	never := rt.AfterFunc(0, func() { t.Error("called") })
	require.False(t, never.Stop())
	require.False(t, never.Reset(0))
	pending.Stop()
}

// Either Stop prevents the call, or f is called and Stop reports false.
func TestStopEitherPreventsTheCallOrSaysThatItDoesNot(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		var stopped []chan struct{}
		for range rounds(200) {
			called := make(chan struct{})
			timer := rt.AfterFunc(time.Millisecond, func() { close(called) })
			time.Sleep(500 * time.Microsecond) // often about as long as the timer takes
			if timer.Stop() {
				stopped = append(stopped, called)
				continue
			}
			receive(t, "the function is called", called)
		}
		later := make(chan struct{})
		rt.AfterFunc(time.Millisecond, func() { close(later) })
		receive(t, "a later timer fires", later)
		for _, called := range stopped {
			select {
			case <-called:
				t.Fatal("called although it was stopped")
			default:
			}
		}
	})
}
