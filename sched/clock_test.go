package sched_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// onPaused runs a test on runtimes with a virtual clock, in which only a wake-up ends a wait.
func onPaused(t *testing.T, test func(t *testing.T, rt *sched.Runtime)) {
	for _, workers := range []int{1, 2, 4} {
		t.Run(fmt.Sprintf("sleeper/%d", workers), func(t *testing.T) {
			test(t, start(t, sched.Config{Workers: workers, Paused: true}.Endless()))
		})
		t.Run(fmt.Sprintf("driver/%d", workers), func(t *testing.T) {
			rt, _ := startFakes(t, sched.Config{Workers: workers, Paused: true}.Endless())
			test(t, rt)
		})
	}
}

// await awaits a future that must not fail.
func await[T any](cx *sched.Context, f sched.Future[T]) T {
	v, err := sched.Await(cx, f)
	if err != nil {
		panic(err)
	}
	return v
}

// inTask runs the steps of a test in a task. A panic there fails the test.
func inTask(t *testing.T, rt *sched.Runtime, steps func(cx *sched.Context)) {
	t.Helper()
	_, err := outcome(t, sched.Go(rt, func(cx *sched.Context) (struct{}, error) {
		steps(cx)
		return struct{}{}, nil
	}))
	require.NoError(t, err)
}

func TestAVirtualClockGoesToTheNextTimerWhenNothingCanRun(t *testing.T) {
	onPaused(t, func(t *testing.T, rt *sched.Runtime) {
		require.Zero(t, rt.Now())
		inTask(t, rt, func(cx *sched.Context) {
			for _, d := range []time.Duration{time.Millisecond, time.Second, 1, 100 * time.Hour, 1000 * 24 * time.Hour} {
				want := expiry(rt.Now() + d)
				await(cx, sched.Sleep(d))
				if rt.Now() != want {
					panic(fmt.Sprintf("it is %v, not %v", rt.Now(), want))
				}
			}
		})
	})
}

// With a runtime. the times go beyond the wheel's overflow list.
func TestYearlyTimersFireInTurnWithAVirtualClock(t *testing.T) {
	const year = 365 * 24 * time.Hour
	onPaused(t, func(t *testing.T, rt *sched.Runtime) {
		var mu sync.Mutex
		var fired []time.Duration
		inTask(t, rt, func(cx *sched.Context) {
			var sleepers []sched.Future[struct{}]
			for _, years := range []time.Duration{10, 3, 1, 4, 2, 5} {
				sleepers = append(sleepers, sched.Go(cx, func(cx *sched.Context) (struct{}, error) {
					await(cx, sched.SleepUntil(years*year))
					mu.Lock()
					defer mu.Unlock()
					fired = append(fired, rt.Now())
					return struct{}{}, nil
				}))
			}
			await(cx, sched.Join(sleepers...))
		})
		require.Equal(t, []time.Duration{year, 2 * year, 3 * year, 4 * year, 5 * year, 10 * year}, fired)
	})
}

// The clock must not move on before tasks that earlier timers woke have run, and must leave out no
// timer. Each sleeper checks the time whenever it runs.
func TestManySleepersEachWakeExactlyAtTheirTick(t *testing.T) {
	onPaused(t, func(t *testing.T, rt *sched.Runtime) {
		n := rounds(300)
		inTask(t, rt, func(cx *sched.Context) {
			var all []sched.Future[struct{}]
			for i := range n {
				rng := rand.New(rand.NewPCG(uint64(i), 1))
				nap := func() time.Duration { return time.Duration(rng.Int64N(int64(20 * time.Millisecond))) }
				check := func(cx *sched.Context, want time.Duration) {
					if rt.Now() != want || cx.Now() != want {
						panic(fmt.Sprintf("woken at %v or %v instead of %v", rt.Now(), cx.Now(), want))
					}
				}
				if i%2 == 0 {
					all = append(all, sched.Go(cx, func(cx *sched.Context) (struct{}, error) {
						for range 30 {
							d := nap()
							want := rt.Now()
							if d > 0 {
								want = expiry(want + d)
							}
							await(cx, sched.Sleep(d))
							check(cx, want)
						}
						return struct{}{}, nil
					}))
					continue
				}
				left, s, want := 30, new(sched.SleepFuture), time.Duration(0)
				all = append(all, sched.Spawn(cx, sched.FutureFunc[struct{}](func(cx *sched.Context) (struct{}, error) {
					for {
						if left < 30 {
							if _, err := s.Poll(cx); err != nil {
								return struct{}{}, err
							}
							check(cx, want)
						}
						if left--; left == 0 {
							return struct{}{}, nil
						}
						d := nap() + 1
						want = expiry(rt.Now() + d)
						s.ResetAt(rt.Now() + d)
					}
				})))
			}
			for _, h := range all {
				await(cx, h)
			}
		})
		require.Zero(t, rt.Timers())
	})
}

func TestAVirtualClockDoesNotGoToATimerThatWasStopped(t *testing.T) {
	onPaused(t, func(t *testing.T, rt *sched.Runtime) {
		inTask(t, rt, func(cx *sched.Context) {
			p := new(probe[int])
			h := sched.Go(cx, func(cx *sched.Context) (int, error) { return sched.Await(cx, sched.Timeout(time.Minute, p)) })
			await(cx, sched.Sleep(time.Second))
			p.finish(1, nil)
			await(cx, h)
			if rt.Now() != time.Second {
				panic(rt.Now())
			}
			await(cx, sched.Sleep(2*time.Minute)) // a later timer, though next was earlier
			if rt.Now() != 2*time.Minute+time.Second {
				panic(rt.Now())
			}
		})
		// And from outside, where only the start of the timer makes a worker check the clock.
		a := freeAlarm(rt)
		rt.HoldClock()
		a.start(rt, 10*time.Minute)
		require.True(t, rt.StopTimer(&a.timer))
		rt.ReleaseClock()
		pass(t, rt, 0)
		a.start(rt, 20*time.Minute)
		eventually(t, "the timer fires", func() bool { return len(a.runs()) == 1 })
		require.Equal(t, []time.Duration{20 * time.Minute}, a.runs())
	})
}

func TestAVirtualClockStandsStillWhileATaskRunsOrTheClockIsHeld(t *testing.T) {
	for _, workers := range []int{1, 2, 4} {
		rt := start(t, sched.Config{Workers: workers, Paused: true}.Endless())
		release := occupy(t, rt, 0)
		a := newAlarm(rt, workers-1)
		a.start(rt, time.Second)
		eventually(t, "the others park", func() bool { return rt.Stats().Parked == workers-1 })
		require.Zero(t, rt.Now())
		rt.HoldClock()
		rt.HoldClock()
		release()
		eventually(t, "all park", func() bool { return rt.Stats().Parked == workers })
		rt.ReleaseClock()
		pass(t, rt, 0)
		eventually(t, "all park", func() bool { return rt.Stats().Parked == workers })
		require.Zero(t, rt.Now())
		require.Empty(t, a.runs())
		rt.ReleaseClock()
		eventually(t, "the timer fires", func() bool { return len(a.runs()) == 1 })
		require.Equal(t, []time.Duration{time.Second}, a.runs())
		require.Panics(t, rt.ReleaseClock)
	}
}

func TestNoTimerMakesAVirtualClockGoOnForEver(t *testing.T) {
	onPaused(t, func(t *testing.T, rt *sched.Runtime) {
		h := sched.Spawn(rt, sched.Sleep(math.MaxInt64))
		inTask(t, rt, func(cx *sched.Context) { await(cx, sched.Sleep(time.Second)) })
		pass(t, rt, 0)
		require.Equal(t, time.Second, rt.Now())
		require.False(t, h.Done())
		h.Abort()
	})
}

func TestAdvanceMovesAVirtualClockByHand(t *testing.T) {
	onPaused(t, func(t *testing.T, rt *sched.Runtime) {
		rt.HoldClock() // only Advance moves the clock
		defer rt.ReleaseClock()
		var mu sync.Mutex
		var order []int
		for i, at := range []time.Duration{30, 10, 20} {
			task := newTask(rt, 0, func(*sched.Context) bool {
				mu.Lock()
				defer mu.Unlock()
				order = append(order, i)
				return false
			})
			rt.StartTimer(new(sched.Timer), at*time.Millisecond, task.Waker())
		}
		woken := func() []int {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(order)
		}
		rt.Advance(20*time.Millisecond - 1)
		eventually(t, "one is woken", func() bool { return len(woken()) == 1 })
		rt.Advance(0)
		rt.Advance(-time.Hour)
		require.Equal(t, 20*time.Millisecond-1, rt.Now())
		pass(t, rt, 0)
		require.Equal(t, []int{1}, woken())
		rt.Advance(time.Second)
		eventually(t, "all are woken", func() bool { return len(woken()) == 3 })
		require.Equal(t, []int{1, 2, 0}, woken())
		rt.Advance(math.MaxInt64)
		require.Equal(t, time.Duration(math.MaxInt64-1), rt.Now())
	})
	require.Panics(t, func() { start(t, sched.Config{Workers: 1}).Advance(1) })
}

// One worker is stuck, and the others wait. They must handle a call of Advance, and a timer that
// is due when it is started.
func TestAdvanceFiresTimersWhicheverWorkerIsStuck(t *testing.T) {
	for _, workers := range []int{2, 4} {
		for stuck := range workers {
			rt := start(t, sched.Config{Workers: workers, Paused: true}.Endless())
			release := occupy(t, rt, stuck)
			eventually(t, "the others park", func() bool { return rt.Stats().Parked == workers-1 })
			a, b := newAlarm(rt, stuck+1), newAlarm(rt, stuck+1)
			a.start(rt, time.Second)
			rt.Advance(time.Second)
			eventually(t, "the timer fires", func() bool { return len(a.runs()) == 1 })
			eventually(t, "the others park", func() bool { return rt.Stats().Parked == workers-1 })
			b.start(rt, time.Second)
			eventually(t, "the timer fires", func() bool { return len(b.runs()) == 1 })
			release()
		}
	}
}

// Two goroutines in Block and a task take steps at times of their own. None of them may find that
// its time has already passed.
func TestAVirtualClockWaitsForGoroutinesInBlock(t *testing.T) {
	onPaused(t, func(t *testing.T, rt *sched.Runtime) {
		rt.HoldClock() // until all of them wait
		steps := func(period time.Duration) sched.Future[struct{}] {
			s, n := new(sched.SleepFuture), 0
			return sched.FutureFunc[struct{}](func(cx *sched.Context) (struct{}, error) {
				for ; n < 200; n++ {
					if want := time.Duration(n) * period; rt.Now() != want {
						if n == 0 || rt.Now() < want {
							if _, err := s.Poll(cx); err != nil {
								return struct{}{}, err
							}
						}
						if rt.Now() != want {
							return struct{}{}, fmt.Errorf("step %d of %v at %v", n, period, rt.Now())
						}
					}
					s.ResetAt(time.Duration(n+1) * period)
					if _, err := s.Poll(cx); err != sched.ErrPending {
						return struct{}{}, fmt.Errorf("step %d is done at once", n)
					}
				}
				return struct{}{}, nil
			})
		}
		results := make(chan error, 2)
		for _, period := range []time.Duration{3 * time.Millisecond, 5 * time.Millisecond} {
			go func() {
				_, err := sched.Block(context.Background(), rt, steps(period))
				results <- err
			}()
		}
		h := sched.Spawn(rt, steps(2*time.Millisecond))
		eventually(t, "all have begun", func() bool { return rt.Timers() == 3 })
		rt.ReleaseClock()
		for range 2 {
			require.NoError(t, receive(t, "Block returns", results))
		}
		_, err := outcome(t, h)
		require.NoError(t, err)
	})
}
