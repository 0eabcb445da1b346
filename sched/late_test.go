package sched_test

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// A worker without a driver that has nothing else to do gives way to the goroutine again
// and again, and most of its ticks then do not read the clock unless they are asked. With
// one processor the goroutine runs between two ticks, but for the few times when it is
// the worker's turn that ends in the middle of one.
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
