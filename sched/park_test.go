package sched_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// These tests run in a bubble, where time stands still until all goroutines wait. So every wait is
// exact to the nanosecond. It is not known whether a goroutine waits for a processor when a worker
// parks; such a worker does not hold.

const hold = 50 * time.Microsecond

// inBubble runs a test with one fake driver per worker, parked. No worker is a watcher: see
// the tests of the monitor.
func inBubble(t *testing.T, cfg sched.Config, test func(t *testing.T, rt *sched.Runtime, fakes []*fake)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		rt, fakes := startFakes(t, cfg.Endless())
		time.Sleep(time.Minute)
		synctest.Wait()
		test(t, rt, fakes)
		require.NoError(t, rt.Close())
	})
}

// requireCalls makes an event happen on a driver until the driver's calls of Poll are the wanted
// ones. One of the others is accepted, too; these lack some of the holds, but have the other
// calls.
func requireCalls(t *testing.T, d *fake, happen func(), wanted []call, others ...[]call) {
	t.Helper()
	for range 500_000 { // some seconds; time cannot be measured here
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

// wakeUp gives a worker a moment's work, and time to park. The worker's hold is at its maximum.
func wakeUp(rt *sched.Runtime, home int, hold time.Duration) func() {
	return func() {
		rt.SetHold(home, hold)
		newTask(rt, home, func(*sched.Context) bool { return true }).Wake()
		time.Sleep(time.Minute)
	}
}

func TestAWorkerHoldsThenBlocksAndThenStaysSo(t *testing.T) {
	inBubble(t, sched.Config{Workers: 2, Hold: hold}, func(t *testing.T, rt *sched.Runtime, fakes []*fake) {
		for i, d := range fakes {
			requireCalls(t, d, wakeUp(rt, i, hold), []call{{holding, hold}, {blocking, -1}}, []call{{blocking, -1}})
		}
		time.Sleep(time.Hour)
		for _, d := range fakes {
			require.Empty(t, d.takeCalls())
		}
	})
}

func TestAWorkerHoldsByDefault(t *testing.T) {
	inBubble(t, sched.Config{Workers: 1}, func(t *testing.T, rt *sched.Runtime, fakes []*fake) {
		// on a slow machine the task may miss the hold that was set, and get the usual one
		requireCalls(t, fakes[0], wakeUp(rt, 0, time.Millisecond), []call{{holding, time.Millisecond}, {blocking, -1}},
			[]call{{blocking, -1}}, []call{{holding, 100 * time.Microsecond}, {blocking, -1}})
	})
}

func TestWithoutHoldAWorkerBlocksAtOnce(t *testing.T) {
	inBubble(t, sched.Config{Workers: 1, Hold: -1}, func(t *testing.T, rt *sched.Runtime, fakes []*fake) {
		requireCalls(t, fakes[0], wakeUp(rt, 0, 0), []call{{blocking, -1}})
		for range 100 { // it does not begin to hold, either
			newTask(rt, 0, func(*sched.Context) bool { return true }).Wake()
			time.Sleep(time.Microsecond)
			synctest.Wait()
		}
		for _, c := range fakes[0].takeCalls() {
			require.NotEqual(t, holding, c.phase)
		}
	})
}

// longest is the longest hold among the calls.
func longest(calls []call) (d time.Duration) {
	for _, c := range calls {
		if c.phase == holding {
			d = max(d, c.wait)
		}
	}
	return d
}

func TestAHoldIsNeverLongerThanConfigured(t *testing.T) {
	for _, c := range []struct{ hold, atMost time.Duration }{
		{time.Microsecond, time.Microsecond},
		{hold, hold},
		{0, 100 * time.Microsecond},
		{time.Hour, time.Second},
	} {
		inBubble(t, sched.Config{Workers: 1, Hold: c.hold}, func(t *testing.T, rt *sched.Runtime, fakes []*fake) {
			rng := rand.New(rand.NewPCG(uint64(c.hold), 7))
			most := time.Duration(0)
			for round := 0; round < 300 || most == 0; round++ {
				newTask(rt, 0, func(*sched.Context) bool { return true }).Wake()
				time.Sleep(time.Duration(rng.Int64N(int64(2 * c.atMost))))
				synctest.Wait()
				most = max(most, longest(fakes[0].takeCalls()))
			}
			require.LessOrEqual(t, most, c.atMost)
		})
	}
}

func TestHoldsEndWhileTheyAreOfNoUse(t *testing.T) {
	const first = 8 * hold
	inBubble(t, sched.Config{Workers: 1, Hold: first}, func(t *testing.T, rt *sched.Runtime, fakes []*fake) {
		rt.SetHold(0, first)
		last, fails := first, 0
		for last > 0 {
			fakes[0].takeCalls()
			before := rt.HoldOf(0)
			newTask(rt, 0, func(*sched.Context) bool { return true }).Wake()
			time.Sleep(time.Minute)
			synctest.Wait()
			if longest(fakes[0].takeCalls()) == 0 {
				continue // a goroutine waited for a processor
			}
			fails++
			last = rt.HoldOf(0)
			require.LessOrEqual(t, last, before)
			require.Less(t, fails, 10)
		}
		for range 100 {
			newTask(rt, 0, func(*sched.Context) bool { return true }).Wake()
			time.Sleep(time.Minute)
			synctest.Wait()
			require.Zero(t, longest(fakes[0].takeCalls()))
		}
	})
}

func TestAHoldComesBackWhenBlocksTurnOutShort(t *testing.T) {
	const most = 8 * hold
	inBubble(t, sched.Config{Workers: 1, Hold: most}, func(t *testing.T, rt *sched.Runtime, fakes []*fake) {
		rt.SetHold(0, 0)
		for range 20 { // blocking for longer than a hold does not bring the hold back
			newTask(rt, 0, func(*sched.Context) bool { return true }).Wake()
			time.Sleep(2 * most)
			synctest.Wait()
			require.Zero(t, rt.HoldOf(0))
		}
		fakes[0].takeCalls()
		rounds := 0
		for last := time.Duration(0); last < most; rounds++ {
			newTask(rt, 0, func(*sched.Context) bool { return true }).Wake()
			time.Sleep(hold / 10) // the hold lasts, or the worker blocks for a short time
			synctest.Wait()
			now := rt.HoldOf(0)
			require.GreaterOrEqual(t, now, last)
			last = now
			require.Less(t, rounds, 100)
		}
		for range 1000 { // then it holds for that long unless a goroutine waits for a processor
			newTask(rt, 0, func(*sched.Context) bool { return true }).Wake()
			time.Sleep(hold / 10)
			synctest.Wait()
			if longest(fakes[0].takeCalls()) == most {
				return
			}
		}
		t.Fatal("it never held")
	})
}

func TestWhatHappensInAHoldIsFollowedByAHold(t *testing.T) {
	inBubble(t, sched.Config{Workers: 1, Hold: hold}, func(t *testing.T, rt *sched.Runtime, fakes []*fake) {
		d := fakes[0]
		for range 1000 {
			time.Sleep(time.Minute) // until the worker blocks
			synctest.Wait()
			rt.SetHold(0, hold)
			d.takeCalls()
			newTask(rt, 0, func(*sched.Context) bool { return true }).Wake()
			time.Sleep(hold / 2)
			synctest.Wait()
			if longest(d.takeCalls()) != hold {
				continue // a goroutine waited for a processor
			}
			woken := newTask(rt, 0, func(*sched.Context) bool { return true }).Waker()
			d.events <- func(cx *sched.Context) (int, error) {
				cx.Wake(woken)
				return 1, nil
			}
			synctest.Wait()
			require.Equal(t, []call{{holding, hold}}, d.takeCalls())
			return
		}
		t.Fatal("it never held")
	})
}

func TestAHoldThatEndsEarlyIsResumedForItsRest(t *testing.T) {
	inBubble(t, sched.Config{Workers: 1, Hold: hold}, func(t *testing.T, rt *sched.Runtime, fakes []*fake) {
		d := fakes[0]
		happen := func() {
			rt.SetHold(0, hold)
			newTask(rt, 0, func(*sched.Context) bool { return true }).Wake()
			synctest.Wait()
			for i := range 4 { // 0: as a signal does
				time.Sleep(hold / 5)
				d.events <- func(*sched.Context) (int, error) { return i % 2, nil } // the end of a send, which wakes nobody
				synctest.Wait()
			}
			time.Sleep(time.Minute)
		}
		requireCalls(t, d, happen,
			[]call{{holding, hold}, {holding, hold * 4 / 5}, {holding, hold * 3 / 5}, {holding, hold * 2 / 5}, {holding, hold / 5}, {blocking, -1}},
			[]call{{blocking, -1}, {blocking, -1}, {blocking, -1}, {blocking, -1}, {blocking, -1}})
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

func TestOneWorkerWaitsNoLongerThanTheNextTimer(t *testing.T) {
	const in = 3 * time.Millisecond
	for _, workers := range []int{1, 2, 4} {
		inBubble(t, sched.Config{Workers: workers, Hold: -1}, func(t *testing.T, rt *sched.Runtime, fakes []*fake) {
			for range 20 {
				var timer sched.Timer
				for _, d := range fakes {
					d.takeCalls()
				}
				rt.StartTimer(&timer, expiry(rt.Now())+in, sched.Waker{})
				synctest.Wait()
				keepers := 0
				for _, d := range fakes {
					switch calls := d.takeCalls(); {
					case len(calls) == 0: // the worker sleeps on
					default:
						require.Equal(t, []call{{blocking, in}}, calls)
						keepers++
					}
				}
				require.Equal(t, 1, keepers)
				newTask(rt, int(rt.Now()), func(*sched.Context) bool { return true }).Wake() // another worker may become the keeper
				time.Sleep(time.Minute)
				synctest.Wait()
				require.True(t, timer.Fired())
			}
		})
	}
}

func TestAWorkerDoesNotHoldWhenATimerIsNear(t *testing.T) {
	const near = 2 * time.Millisecond
	inBubble(t, sched.Config{Workers: 1, Hold: 10 * time.Millisecond}, func(t *testing.T, rt *sched.Runtime, fakes []*fake) {
		var timer sched.Timer
		happen := func() {
			rt.SetHold(0, 10*time.Millisecond)
			rt.StartTimer(&timer, expiry(rt.Now())+near, sched.Waker{})
			time.Sleep(time.Minute)
		}
		requireCalls(t, fakes[0], happen,
			[]call{{blocking, near}, {holding, 10 * time.Millisecond}, {blocking, -1}},
			[]call{{blocking, near}, {blocking, -1}})
	})
}
