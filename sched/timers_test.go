package sched_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// An alarm is a task with a timer. It records when it ran.
type alarm struct {
	task  sched.Task
	timer sched.Timer
	at    time.Duration // the time that the timer was started with

	mu  sync.Mutex
	ran []time.Duration
}

func newAlarm(rt *sched.Runtime, home int) *alarm {
	a := freeAlarm(rt)
	a.task.Pin(home)
	return a
}

func freeAlarm(rt *sched.Runtime) *alarm {
	a := new(alarm)
	a.task.Init(rt, body(func(*sched.Context) bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.ran = append(a.ran, rt.Now())
		return false
	}))
	return a
}

func (a *alarm) start(rt *sched.Runtime, at time.Duration) {
	a.at = at
	rt.StartTimer(&a.timer, at, a.task.Waker())
}

func (a *alarm) runs() []time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.ran)
}

// expiry is the tick at which a timer expires: the first one not before at.
func expiry(at time.Duration) time.Duration {
	return (at + time.Millisecond - 1).Truncate(time.Millisecond)
}

// onBubbles runs a test in bubbles, where time stands still until all goroutines wait. So a timer
// fires exactly at its tick.
func onBubbles(t *testing.T, test func(t *testing.T, rt *sched.Runtime)) {
	for _, workers := range []int{1, 2, 4} {
		for _, withDriver := range []bool{false, true} {
			t.Run(fmt.Sprintf("driver %v/%d", withDriver, workers), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					cfg := sched.Config{Workers: workers}
					var rt *sched.Runtime
					if withDriver {
						rt, _ = startFakes(t, cfg)
					} else {
						rt = start(t, cfg)
					}
					synctest.Wait()
					test(t, rt)
					require.NoError(t, rt.Close())
				})
			})
		}
	}
}

func sleepUntil(rt *sched.Runtime, at time.Duration) {
	time.Sleep(at - rt.Now())
	synctest.Wait()
}

func TestATimerFiresAtItsTickAndNotBefore(t *testing.T) {
	onBubbles(t, func(t *testing.T, rt *sched.Runtime) {
		for i, at := range []time.Duration{
			1, 2 * time.Millisecond, 3*time.Millisecond - 1, 63*time.Millisecond + 1, 65 * time.Millisecond,
			time.Second - 1, time.Hour, 13 * 24 * time.Hour, 100 * 24 * time.Hour,
		} {
			a := newAlarm(rt, i)
			a.start(rt, at)
			sleepUntil(rt, expiry(at)-1)
			require.Empty(t, a.runs(), "%v", at)
			sleepUntil(rt, expiry(at))
			require.Equal(t, []time.Duration{expiry(at)}, a.runs())
		}
	})
}

func TestATimeThatHasPassedWakesAtOnce(t *testing.T) {
	onBubbles(t, func(t *testing.T, rt *sched.Runtime) {
		time.Sleep(time.Second)
		now := rt.Now()
		for _, at := range []time.Duration{-time.Hour, 0, 1, now - time.Millisecond} {
			a := newAlarm(rt, 0)
			a.start(rt, at)
			synctest.Wait()
			require.Equal(t, []time.Duration{now}, a.runs(), "%v", at)
		}
	})
}

func TestATimerThatNeverComesHurtsNobody(t *testing.T) {
	onBubbles(t, func(t *testing.T, rt *sched.Runtime) {
		for _, at := range []time.Duration{math.MaxInt64, math.MaxInt64 - 1, math.MaxInt64 - 2e6, math.MaxInt64 / 2} {
			a, b := newAlarm(rt, 0), newAlarm(rt, 0)
			a.start(rt, at)
			b.start(rt, rt.Now()+time.Second)
			time.Sleep(time.Minute)
			require.Empty(t, a.runs())
			require.Len(t, b.runs(), 1)
			require.True(t, rt.StopTimer(&a.timer))
		}
	})
}

func TestTimersFireInOrder(t *testing.T) {
	onBubbles(t, func(t *testing.T, rt *sched.Runtime) {
		var order []int
		timers := make([]sched.Timer, 50)
		begin := expiry(rt.Now()) + time.Millisecond
		for i := range timers { // the second half of them late, so that they are not started in order
			tick := i/2 + (i%2)*100
			task := newTask(rt, 0, func(*sched.Context) bool { order = append(order, tick); return true })
			rt.StartTimer(&timers[i], begin+time.Duration(tick)*time.Millisecond, task.Waker())
		}
		time.Sleep(time.Second)
		synctest.Wait()
		require.Len(t, order, len(timers))
		require.True(t, slices.IsSorted(order), "%v", order)
	})
}

func TestAStoppedTimerDoesNotFire(t *testing.T) {
	onBubbles(t, func(t *testing.T, rt *sched.Runtime) {
		a, b := newAlarm(rt, 0), newAlarm(rt, 1)
		require.False(t, rt.StopTimer(&a.timer), "never started")
		a.start(rt, 10*time.Millisecond)
		b.start(rt, 20*time.Millisecond)
		require.True(t, rt.StopTimer(&a.timer))
		require.False(t, rt.StopTimer(&a.timer), "twice")
		sleepUntil(rt, time.Second)
		require.Empty(t, a.runs())
		require.Equal(t, []time.Duration{20 * time.Millisecond}, b.runs())
		require.False(t, rt.StopTimer(&b.timer), "after it fired")
	})
}

func TestATimerStartedAgainFiresAtTheNewTimeOnly(t *testing.T) {
	for name, at := range map[string]time.Duration{"earlier": 5 * time.Millisecond, "later": 500 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			onBubbles(t, func(t *testing.T, rt *sched.Runtime) {
				a := newAlarm(rt, 0)
				a.start(rt, 50*time.Millisecond)
				synctest.Wait()
				a.start(rt, at)
				sleepUntil(rt, time.Second)
				require.Equal(t, []time.Duration{at}, a.runs())
				a.start(rt, 2*time.Second)
				sleepUntil(rt, time.Minute)
				require.Equal(t, []time.Duration{at, 2 * time.Second}, a.runs())
			})
		})
	}
}

func TestFiredIsTrueFromTheExpiryToTheNextStart(t *testing.T) {
	onBubbles(t, func(t *testing.T, rt *sched.Runtime) {
		var timer sched.Timer
		require.False(t, timer.Fired())
		seen := false
		task := newTask(rt, 1, func(*sched.Context) bool { seen = timer.Fired(); return false })
		rt.StartTimer(&timer, 10*time.Millisecond, task.Waker())
		sleepUntil(rt, 9*time.Millisecond)
		require.False(t, timer.Fired())
		sleepUntil(rt, 10*time.Millisecond)
		require.True(t, timer.Fired())
		require.True(t, seen, "by the task")
		rt.StartTimer(&timer, time.Second, task.Waker())
		require.False(t, timer.Fired())
		require.True(t, rt.StopTimer(&timer))
		sleepUntil(rt, time.Minute)
		require.False(t, timer.Fired())
	})
}

func TestATimerMayWakeAnotherTaskWhenStartedAgain(t *testing.T) {
	onBubbles(t, func(t *testing.T, rt *sched.Runtime) {
		a, b := newAlarm(rt, 0), newAlarm(rt, 0)
		rt.StartTimer(&a.timer, time.Second, a.task.Waker())
		rt.StartTimer(&a.timer, time.Second, b.task.Waker())
		sleepUntil(rt, time.Minute)
		require.Empty(t, a.runs())
		require.Len(t, b.runs(), 1)
	})
}

func TestAnEarlierTimerShortensASleepThatHasBegun(t *testing.T) {
	onBubbles(t, func(t *testing.T, rt *sched.Runtime) {
		late := newAlarm(rt, 0)
		late.start(rt, time.Hour)
		time.Sleep(time.Second)
		for i, from := range []string{"a goroutine", "a worker"} {
			early := newAlarm(rt, i)
			at := expiry(rt.Now()) + 30*time.Millisecond
			if from == "a goroutine" {
				early.start(rt, at)
			} else {
				newTask(rt, rt.Workers()-1, func(*sched.Context) bool { early.start(rt, at); return true }).Wake()
			}
			time.Sleep(time.Minute)
			require.Equal(t, []time.Duration{at}, early.runs(), "started by %s", from)
		}
		require.Empty(t, late.runs())
	})
}

// A stop does not notify worker 0, which then wakes up once for nothing. A timer that is due
// before that must still fire in time.
func TestATimerStartedAfterAStopFires(t *testing.T) {
	onBubbles(t, func(t *testing.T, rt *sched.Runtime) {
		a := newAlarm(rt, 0)
		a.start(rt, 10*time.Millisecond)
		synctest.Wait()
		rt.StopTimer(&a.timer)
		a.start(rt, 30*time.Millisecond)
		b := newAlarm(rt, 1)
		b.start(rt, 20*time.Millisecond)
		sleepUntil(rt, time.Second)
		require.Equal(t, []time.Duration{30 * time.Millisecond}, a.runs())
		require.Equal(t, []time.Duration{20 * time.Millisecond}, b.runs())
	})
}

func TestATaskMayRestartItsTimerForEver(t *testing.T) {
	onBubbles(t, func(t *testing.T, rt *sched.Runtime) {
		var timer sched.Timer
		var ran []time.Duration
		newTask(rt, 1, func(cx *sched.Context) bool {
			ran = append(ran, cx.Now())
			rt.StartTimer(&timer, cx.Now()+10*time.Millisecond, cx.Waker())
			return false
		}).Wake()
		sleepUntil(rt, 10*time.Second)
		require.True(t, rt.StopTimer(&timer))
		require.Equal(t, 1001, len(ran))
		for i, at := range ran {
			require.Equal(t, time.Duration(i)*10*time.Millisecond, at)
		}
	})
}

func TestTenThousandTimers(t *testing.T) {
	onBubbles(t, func(t *testing.T, rt *sched.Runtime) {
		rng := rand.New(rand.NewPCG(uint64(rt.Workers()), 2))
		alarms := make([]*alarm, 10_000)
		stopped := 0
		for i := range alarms {
			if alarms[i] = freeAlarm(rt); i%2 == 0 {
				alarms[i].task.Pin(i / 2)
			}
			alarms[i].start(rt, rt.Now()+time.Duration(1+rng.Int64N(int64(time.Minute))))
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		for _, a := range alarms {
			switch rng.IntN(4) {
			case 0:
				rt.StopTimer(&a.timer)
				stopped++
				if len(a.runs()) == 0 {
					a.at = -1
				}
			case 1:
				if len(a.runs()) == 0 {
					a.start(rt, rt.Now()+time.Duration(1+rng.Int64N(int64(time.Minute))))
				}
			}
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		for _, a := range alarms {
			if a.at < 0 {
				require.Empty(t, a.runs())
			} else {
				require.Equal(t, []time.Duration{expiry(a.at)}, a.runs())
			}
		}
		require.NotZero(t, stopped)
	})
}

// In real time, while the workers park and compete for the wheel.
func TestTimersStartedFromEverywhereFireNotEarly(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		var starters sync.WaitGroup
		alarms := make([]*alarm, 400)
		for g := range 4 {
			starters.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(g), 3))
				for i := g; i < len(alarms); i += 4 {
					a := freeAlarm(rt)
					if i%2 == 0 {
						a.task.Pin(i / 2)
					}
					alarms[i] = a
					a.start(rt, rt.Now()+time.Hour)
					a.start(rt, rt.Now()+time.Duration(rng.Int64N(int64(30*time.Millisecond))))
					if rng.IntN(4) == 0 && rt.StopTimer(&a.timer) {
						a.at = math.MaxInt64
					}
				}
			})
		}
		awaitAll(t, &starters)
		for _, a := range alarms {
			if a.at == math.MaxInt64 {
				continue
			}
			eventually(t, "a timer fires", func() bool { return len(a.runs()) > 0 })
			require.GreaterOrEqual(t, a.runs()[0], a.at)
		}
		for _, a := range alarms {
			if a.at == math.MaxInt64 {
				require.Empty(t, a.runs())
			} else {
				require.Len(t, a.runs(), 1)
			}
		}
	})
}

func TestATimerFiresThoughWorkerZeroIsStuckWhenAnotherIsAwake(t *testing.T) {
	for _, workers := range []int{2, 4} {
		rt, _ := startFakes(t, sched.Config{Workers: workers})
		release := occupy(t, rt, 0)
		stop := make(chan struct{})
		newTask(rt, 1, func(cx *sched.Context) bool { // keeps worker 1 running
			select {
			case <-stop:
				return true
			default:
				cx.Waker().Wake()
				return false
			}
		}).Wake()
		a := newAlarm(rt, 1)
		a.start(rt, rt.Now()+5*time.Millisecond)
		eventually(t, "the timer fires", func() bool { return len(a.runs()) == 1 })
		close(stop)
		release()
	}
}

// The keeper of the timers is stuck, and all other workers sleep.
func TestATimerFiresWhicheverWorkerIsStuck(t *testing.T) {
	for _, workers := range []int{2, 4} {
		rt := start(t, sched.Config{Workers: workers})
		for stuck := range workers {
			eventually(t, "all workers park", func() bool { return rt.Stats().Parked == workers })
			release := occupy(t, rt, stuck)
			a := freeAlarm(rt)
			a.start(rt, rt.Now()+5*time.Millisecond)
			eventually(t, "the timer fires", func() bool { return len(a.runs()) == 1 })
			require.GreaterOrEqual(t, a.runs()[0], a.at)
			release()
		}
	}
}
