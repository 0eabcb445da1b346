package sched_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

const ms = time.Millisecond

func tick(cx *sched.Context, i *sched.Interval) time.Duration {
	at, err := i.Tick(cx)
	must(err == nil, "%v", err)
	return at
}

func TestAnIntervalTicksAtOnceAndThenOncePerPeriod(t *testing.T) {
	onPaused(t, func(t *testing.T, rt *sched.Runtime) {
		inTask(t, rt, func(cx *sched.Context) {
			await(cx, sched.Sleep(7*ms))
			i := sched.NewInterval(300 * ms)
			for n := range time.Duration(5) {
				want := 7*ms + n*300*ms
				at := tick(cx, i)
				must(at == want && rt.Now() == want, "tick %d of %v at %v", n, at, rt.Now())
			}
			at := sched.NewIntervalAt(10*time.Second, time.Second)
			for n := range time.Duration(3) {
				want := 10*time.Second + n*time.Second
				must(tick(cx, at) == want && rt.Now() == want, "tick %d at %v", n, rt.Now())
			}
			must(at.Period() == time.Second, "period")
		})
	})
	require.Panics(t, func() { sched.NewInterval(0) })
	require.Panics(t, func() { sched.NewIntervalAt(0, -1) })
}

func TestAnIntervalPolledLateBurstsDelaysOrSkips(t *testing.T) {
	for _, c := range []struct {
		name   string
		missed sched.MissedTick
		next   []time.Duration // after the late tick
		at     []time.Duration // times at which they are taken
	}{
		{"Burst", sched.Burst, []time.Duration{600 * ms, 900 * ms, 1200 * ms}, []time.Duration{650 * ms, 900 * ms, 1200 * ms}},
		{"Delay", sched.Delay, []time.Duration{950 * ms, 1250 * ms, 1550 * ms}, []time.Duration{950 * ms, 1250 * ms, 1550 * ms}},
		{"Skip", sched.Skip, []time.Duration{900 * ms, 1200 * ms, 1500 * ms}, []time.Duration{900 * ms, 1200 * ms, 1500 * ms}},
	} {
		t.Run(c.name, func(t *testing.T) {
			onPaused(t, func(t *testing.T, rt *sched.Runtime) {
				inTask(t, rt, func(cx *sched.Context) {
					i := sched.NewInterval(300 * ms).OnMissed(c.missed)
					must(tick(cx, i) == 0, "the first")
					await(cx, sched.Sleep(650*ms))
					must(tick(cx, i) == 300*ms && rt.Now() == 650*ms, "the late one at %v", rt.Now())
					for n := range c.next {
						at := tick(cx, i)
						must(at == c.next[n] && rt.Now() == c.at[n], "tick of %v at %v", at, rt.Now())
					}
				})
			})
		})
	}
}

func TestATickThatIsALittleLateKeepsTheBeat(t *testing.T) {
	for _, missed := range []sched.MissedTick{sched.Burst, sched.Delay, sched.Skip} {
		onPaused(t, func(t *testing.T, rt *sched.Runtime) {
			inTask(t, rt, func(cx *sched.Context) {
				i := sched.NewInterval(10 * ms).OnMissed(missed)
				for n := range time.Duration(20) {
					await(cx, sched.SleepUntil(n*10*ms+5*ms))
					if n == 0 {
						i.ResetAt(0)
					}
					must(tick(cx, i) == n*10*ms && rt.Now() == n*10*ms+5*ms, "tick %d at %v", n, rt.Now())
				}
			})
		})
	}
}

func TestABurstOfTicksLetsOthersRun(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1, Paused: true}.Endless())
	inTask(t, rt, func(cx *sched.Context) {
		i := sched.NewInterval(1) // a nanosecond: after a millisecond it is a million ticks behind
		others := 0
		h := sched.Spawn(cx, sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
			if others++; others == 100 {
				return others, nil
			}
			cx.Wake(cx.Waker())
			return 0, sched.ErrPending
		}))
		tick(cx, i)
		rt.Advance(ms)
		for n := time.Duration(1); n <= 100_000; n++ {
			must(tick(cx, i) == n, "tick %d", n)
			if h.Done() {
				return
			}
		}
		panic("nobody else ran")
	})
}

func TestATickThatWasAbandonedIsStillToCome(t *testing.T) {
	onPaused(t, func(t *testing.T, rt *sched.Runtime) {
		inTask(t, rt, func(cx *sched.Context) {
			i := sched.NewInterval(time.Second)
			tick(cx, i)
			_, err := sched.Await(cx, sched.Timeout(300*ms, i))
			must(err == sched.ErrTimeout, "%v", err)
			must(rt.Timers() == 0, "a timer was left")
			must(tick(cx, i) == time.Second && rt.Now() == time.Second, "at %v", rt.Now())
			_, ok := i.TryTick(cx)
			must(!ok, "a tick too early")
			await(cx, sched.Sleep(time.Second))
			at, ok := i.TryTick(cx)
			must(ok && at == 2*time.Second, "no tick at %v", rt.Now())
			first, ok := sched.NewInterval(time.Hour).TryTick(cx)
			must(ok && first == rt.Now(), "no first tick")
		})
	})
}

func TestAnIntervalThatIsResetTicksAPeriodLater(t *testing.T) {
	onPaused(t, func(t *testing.T, rt *sched.Runtime) {
		inTask(t, rt, func(cx *sched.Context) {
			i := sched.NewInterval(time.Second)
			i.Reset()
			must(tick(cx, i) == time.Second && rt.Now() == time.Second, "at %v", rt.Now())
			await(cx, sched.Sleep(300*ms))
			i.Reset()
			must(tick(cx, i) == 2300*ms && rt.Now() == 2300*ms, "at %v", rt.Now())
			i.ResetAt(10 * time.Second)
			must(tick(cx, i) == 10*time.Second && tick(cx, i) == 11*time.Second, "at %v", rt.Now())
			far := sched.NewIntervalAt(rt.Now(), math.MaxInt64)
			tick(cx, far)
			must(!pollNow(cx, far), "a sum that overflows")
			far.Cancel()
		})
	})
}

func TestATickAllocatesNothing(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1, Paused: true})
	inTask(t, rt, func(cx *sched.Context) {
		i := sched.NewInterval(time.Millisecond)
		tick(cx, i)
		n := testing.AllocsPerRun(1000, func() { tick(cx, i) })
		must(n == 0, "%v allocations", n)
	})
}
