package sched_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// These tests run in a bubble, where time stands still until everybody waits:
// every wait is known to the nanosecond. What is not known is whether a
// goroutine waits for a processor when a worker parks, which then does not hold.

const hold = 50 * time.Microsecond

// inBubble runs a test on one fake driver per worker, parked.
func inBubble(t *testing.T, cfg sched.Config, test func(t *testing.T, rt *sched.Runtime, fakes []*fake)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		rt, fakes := startFakes(t, cfg)
		time.Sleep(time.Minute)
		synctest.Wait()
		test(t, rt, fakes)
		require.NoError(t, rt.Close())
	})
}

// requireCalls has something happen to a driver until its calls of Poll are the
// wanted ones. They may also be one of the others, which are the same without
// some of the holds, and nothing else.
func requireCalls(t *testing.T, d *fake, happen func(), wanted []call, others ...[]call) {
	t.Helper()
	for range 500_000 { // some seconds: time cannot be told here
		d.takeCalls()
		happen()
		synctest.Wait()
		calls := d.takeCalls()
		if slices.Equal(calls, wanted) {
			return
		}
		if len(others) == 0 {
			require.Equal(t, wanted, calls)
		}
		require.Contains(t, others, calls, "beside %v", wanted)
	}
	t.Fatalf("never %v", wanted)
}

// wakeUp gives a worker a moment's work and time to park.
func wakeUp(rt *sched.Runtime, home int) func() {
	return func() {
		newTask(rt, home, func(*sched.Context) bool { return true }).Wake()
		time.Sleep(time.Minute)
	}
}

func TestAWorkerHoldsThenBlocksAndThenStaysSo(t *testing.T) {
	inBubble(t, sched.Config{Workers: 2, Hold: hold}, func(t *testing.T, rt *sched.Runtime, fakes []*fake) {
		for i, d := range fakes {
			requireCalls(t, d, wakeUp(rt, i), []call{{holding, hold}, {blocking, -1}}, []call{{blocking, -1}})
		}
		time.Sleep(time.Hour)
		for _, d := range fakes {
			require.Empty(t, d.takeCalls())
		}
	})
}

func TestAWorkerHoldsByDefault(t *testing.T) {
	inBubble(t, sched.Config{Workers: 1}, func(t *testing.T, rt *sched.Runtime, fakes []*fake) {
		d := fakes[0]
		for {
			d.takeCalls()
			wakeUp(rt, 0)()
			calls := d.takeCalls()
			if len(calls) == 1 {
				continue // a goroutine waited for a processor
			}
			require.Len(t, calls, 2)
			require.Equal(t, holding, calls[0].phase)
			require.Positive(t, calls[0].wait)
			return
		}
	})
}

func TestWithoutHoldAWorkerBlocksAtOnce(t *testing.T) {
	inBubble(t, sched.Config{Workers: 1, Hold: -1}, func(t *testing.T, rt *sched.Runtime, fakes []*fake) {
		requireCalls(t, fakes[0], wakeUp(rt, 0), []call{{blocking, -1}})
	})
}

func TestAHoldIsASecondAtMost(t *testing.T) {
	inBubble(t, sched.Config{Workers: 1, Hold: time.Hour}, func(t *testing.T, rt *sched.Runtime, fakes []*fake) {
		requireCalls(t, fakes[0], wakeUp(rt, 0), []call{{holding, time.Second}, {blocking, -1}}, []call{{blocking, -1}})
	})
}

func TestWhatHappensInAHoldIsFollowedByAHold(t *testing.T) {
	inBubble(t, sched.Config{Workers: 1, Hold: hold}, func(t *testing.T, _ *sched.Runtime, fakes []*fake) {
		d := fakes[0]
		nothing := func(*sched.Context) (int, error) { return 1, nil }
		happen := func() {
			time.Sleep(time.Minute) // until it blocks
			synctest.Wait()
			d.takeCalls()
			d.events <- nothing
			time.Sleep(hold / 2)
			d.events <- nothing
			time.Sleep(hold / 4)
		}
		requireCalls(t, d, happen, []call{{holding, hold}, {holding, hold}},
			[]call{{holding, hold}}, []call{{blocking, -1}}, []call{{holding, hold}, {blocking, -1}}, []call{{blocking, -1}, {holding, hold}})
	})
}

func TestAHoldThatEndsEarlyIsResumed(t *testing.T) {
	inBubble(t, sched.Config{Workers: 1, Hold: hold}, func(t *testing.T, rt *sched.Runtime, fakes []*fake) {
		d := fakes[0]
		happen := func() {
			newTask(rt, 0, func(*sched.Context) bool { return true }).Wake()
			time.Sleep(hold / 2)
			d.events <- func(*sched.Context) (int, error) { return 0, nil } // as a signal does
			time.Sleep(time.Minute)
		}
		requireCalls(t, d, happen, []call{{holding, hold}, {holding, hold}, {blocking, -1}},
			[]call{{blocking, -1}, {blocking, -1}}, []call{{blocking, -1}, {holding, hold}, {blocking, -1}},
			[]call{{holding, hold}, {blocking, -1}})
	})
}

func TestAWorkerWithWorkPollsWithoutWaiting(t *testing.T) {
	inBubble(t, sched.Config{Workers: 1, Hold: -1}, func(t *testing.T, rt *sched.Runtime, fakes []*fake) {
		happen := func() {
			runs := 0
			newTask(rt, 0, func(cx *sched.Context) bool {
				runs++
				cx.Waker().Wake()
				return runs == 300
			}).Wake()
			time.Sleep(time.Minute)
		}
		// 128 runs, poll, 128, poll, 44
		requireCalls(t, fakes[0], happen, []call{{polling, 0}, {polling, 0}, {blocking, -1}})
	})
}

func TestWorkerZeroWaitsNoLongerThanTheNextTimer(t *testing.T) {
	const in = 3 * time.Millisecond
	inBubble(t, sched.Config{Workers: 2, Hold: hold}, func(t *testing.T, rt *sched.Runtime, fakes []*fake) {
		var timer sched.Timer
		happen := func() {
			rt.StartTimer(&timer, rt.Now()+in, sched.Waker{})
			time.Sleep(time.Minute)
		}
		fakes[1].takeCalls()
		requireCalls(t, fakes[0], happen,
			[]call{{holding, hold}, {blocking, in - hold}, {holding, hold}, {blocking, -1}},
			[]call{{holding, hold}, {blocking, in - hold}, {blocking, -1}},
			[]call{{blocking, in}, {holding, hold}, {blocking, -1}},
			[]call{{blocking, in}, {blocking, -1}})
		require.Empty(t, fakes[1].takeCalls(), "the other worker sleeps on")
	})
}

func TestAWorkerDoesNotHoldWhenATimerIsNear(t *testing.T) {
	inBubble(t, sched.Config{Workers: 1, Hold: 10 * time.Millisecond}, func(t *testing.T, rt *sched.Runtime, fakes []*fake) {
		var timer sched.Timer
		happen := func() {
			rt.StartTimer(&timer, rt.Now()+2*time.Millisecond, sched.Waker{})
			time.Sleep(time.Minute)
		}
		requireCalls(t, fakes[0], happen,
			[]call{{blocking, 2 * time.Millisecond}, {holding, 10 * time.Millisecond}, {blocking, -1}},
			[]call{{blocking, 2 * time.Millisecond}, {blocking, -1}})
	})
}
