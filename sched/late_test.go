package sched_test

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// A worker without a driver and without other work yields to the goroutine again and again. Most
// of its ticks then read the clock only if a task asks for the time. With one processor the
// goroutine runs between two ticks, except when the worker is preempted within a tick.
func TestATaskFindsThatItIsNotEarlierThanItsWake(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, workers := range []int{1, 2} {
		rt := start(t, sched.Config{Workers: workers})
		asks := make(chan sched.Waker, 1)
		var woken atomic.Int64
		go func() {
			for w := range asks {
				woken.Store(int64(rt.Now()))
				w.Wake()
			}
		}()
		const rounds = 2000
		left, early, ahead := rounds, 0, 0
		ended := make(chan struct{})
		newTask(rt, 0, func(cx *sched.Context) bool {
			if int64(cx.Now()) < woken.Load() {
				early++
			}
			if cx.Now() > rt.Now() {
				ahead++
			}
			if left--; left == 0 {
				close(asks)
				close(ended)
				return true
			}
			asks <- cx.Waker()
			return false
		}).Wake()
		receive(t, "the task ends", ended)
		require.Less(t, early, rounds/4)
		require.Zero(t, ahead)
	}
}
