package sched

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/goid"
)

func adaptiveOf(cfg Config) (*worker, *adaptive) {
	cfg.NewDriver = func(int) (Driver, error) { return newSleeper(), nil } // without a driver there is no hold
	w := New(cfg).workers[0]
	return w, &w.adapt
}

// The interval is clamp(1 ms / the average task, 8, 255).
func TestTheGlobalIntervalFollowsTheTasksLength(t *testing.T) {
	w, a := adaptiveOf(Config{Workers: 1})
	require.Equal(t, 20, a.interval, "of 50 µs, to begin with")
	for _, c := range []struct {
		cost time.Duration
		want int
	}{
		{1, 255}, {time.Microsecond, 255}, {3921, 255}, {3922, 254}, {4 * time.Microsecond, 250}, {5 * time.Microsecond, 200},
		{50 * time.Microsecond, 20}, {100 * time.Microsecond, 10}, {125 * time.Microsecond, 8}, {time.Millisecond, 8}, {time.Hour, 8},
	} {
		a.set(w, float64(c.cost))
		require.Equal(t, c.want, a.interval, "%v", c.cost)
	}
}

// The last tick has a weight of one tenth.
func TestTheAverageMovesTowardsWhatIsMeasured(t *testing.T) {
	w, a := adaptiveOf(Config{Workers: 1})
	measure := func(perTask time.Duration) {
		w.now = w.rt.Now() - 100*perTask
		a.measure(w, 100)
	}
	for range 100 {
		last := a.cost
		measure(20 * time.Millisecond)
		if last < 20e6 { // otherwise an earlier one took longer than intended, because the test was delayed
			require.Greater(t, a.cost, last, "longer tasks")
		}
		require.InEpsilon(t, 0.9*last+0.1*20e6, a.cost, 0.5)
	}
	require.Equal(t, minInterval, a.interval)
	for range 200 {
		last := a.cost
		w.now = w.rt.Now()
		a.measure(w, 1<<30) // whatever the tick's duration, each task takes almost none of it
		require.Less(t, a.cost, last)
		require.GreaterOrEqual(t, a.cost, 1.0)
	}
	require.Equal(t, maxInterval, a.interval)
	require.LessOrEqual(t, w.cost.Load(), int64(2), "others see it roughly")
}

func TestTheGlobalQueueIsDueOnceAnInterval(t *testing.T) {
	w, a := adaptiveOf(Config{Workers: 1})
	a.set(w, float64(100*time.Microsecond))
	for !a.globalDue() {
	}
	for range 5 {
		for range 9 {
			require.False(t, a.globalDue())
		}
		require.True(t, a.globalDue())
	}
}

func TestAWorkerHoldsWhileMostWaitsAreShort(t *testing.T) {
	const most = 400 * time.Microsecond
	_, a := adaptiveOf(Config{Workers: 1, Hold: most})
	require.Equal(t, most, a.hold)
	changes := func(short bool) (n int) {
		for n = 1; n < 100; n++ {
			before := a.hold
			if a.waited(short); a.hold != before {
				return n
			}
		}
		return 0
	}
	require.Equal(t, 4, changes(false))
	require.Zero(t, a.hold)
	for range 1000 {
		a.waited(false)
		a.waited(true)
		require.Zero(t, a.hold, "every other wait is not enough")
	}
	require.LessOrEqual(t, changes(true), 6)
	require.Equal(t, most, a.hold)
	require.Zero(t, changes(true))
}

// A worker that is about to keep its processor for long checks again whether goroutines wait, even
// if it has checked just before.
func TestALongHoldBeginsOnlyWhileNoGoroutineWaitsForTheProcessor(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var stop atomic.Bool
	ended := make(chan struct{})
	go func() { // a goroutine that is always ready
		defer close(ended)
		for !stop.Load() {
			runtime.Gosched()
		}
	}()
	w, a := adaptiveOf(Config{Workers: 1, Hold: 10 * time.Millisecond})
	ask := func() bool {
		w.ran, w.asked = true, w.now
		return w.mayHold()
	}
	require.False(t, ask())
	a.hold = longHold
	require.True(t, ask(), "a short one asks now and then")
	a.hold = 10 * time.Millisecond
	w.ran, w.asked = false, w.now-longHold
	require.False(t, w.mayHold(), "from time to time also if no task has run")
	stop.Store(true)
	<-ended
	a.hold = 10 * time.Millisecond
	for began := time.Now(); !ask(); runtime.Gosched() {
		require.Less(t, time.Since(began), 30*time.Second, "nobody waits any more")
	}
}

func TestWithoutHoldNothingBringsOne(t *testing.T) {
	_, a := adaptiveOf(Config{Workers: 1, Hold: -1})
	for range 100 {
		a.waited(true)
	}
	require.Zero(t, a.hold)
}

func TestAWorkerKeepsWhatIsNotWorthAnothersWakeUp(t *testing.T) {
	w, a := adaptiveOf(Config{Workers: 2, WakeCost: 20 * time.Microsecond})
	w.id = goid.Get()
	a.set(w, float64(2*time.Microsecond))
	require.True(t, w.cx.Keeps(64), "nobody is idle")
	w.rt.idle.park(1, false)
	require.True(t, w.cx.Keeps(10))
	require.False(t, w.cx.Keeps(11))
	alone, _ := adaptiveOf(Config{Workers: 1})
	alone.id = goid.Get()
	require.True(t, alone.cx.Keeps(1000))
}
