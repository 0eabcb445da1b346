package bubble

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// monotonic reports whether the clock has a monotonic reading, which bubbles' clocks do not have.
func monotonic() bool { now := time.Now(); return now != now.Round(0) }

// leavesNothing waits until no goroutine of this package is left.
func leavesNothing(t *testing.T) {
	require.Eventually(t, func() bool {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		return !strings.Contains(string(stacks), "bubble.(*attending).attend")
	}, 30*time.Second, 5*time.Millisecond)
}

func TestIn(t *testing.T) {
	require.False(t, In())
	synctest.Test(t, func(t *testing.T) {
		require.True(t, In())
		time.Sleep(24 * time.Hour)
		require.True(t, In())
		Outside(func() { require.False(t, In()) })
	})
	require.Zero(t, testing.AllocsPerRun(100, func() { In() }))
}

// If this fails, Go has changed the rules that doc.go tells.
func TestOutsideRunsWithoutABubble(t *testing.T) {
	defer leavesNothing(t)
	var c chan int
	synctest.Test(t, func(t *testing.T) {
		Outside(func() {
			require.True(t, monotonic(), "the clock outside is real")
			c = make(chan int, 1)
		})
		require.False(t, monotonic())
		c <- 1
	})
	require.Equal(t, 1, <-c, "the channel is nobody's: else the process ends here")
}

func TestOutsideWithoutABubbleIsACall(t *testing.T) {
	leavesNothing(t) // of other tests
	Outside(func() { leavesNothing(t) })
	require.PanicsWithValue(t, "of f", func() { Outside(func() { panic("of f") }) })
}

// With GODEBUG=panicnil=1 recover returns nil for panic(nil), and what it returns is panicked with.
func TestANilPanicOutsideIsTheCallers(t *testing.T) {
	t.Setenv("GODEBUG", "panicnil=1")
	synctest.Test(t, func(t *testing.T) {
		require.Panics(t, func() { Outside(func() { panic(nil) }) })
	})
}

func TestOutsideFromSeveralBubbles(t *testing.T) {
	defer leavesNothing(t)
	for range 3 { // at a time, and one after the other
		var bubbles sync.WaitGroup
		for range 4 {
			bubbles.Go(func() {
				synctest.Test(t, func(t *testing.T) {
					var inside sync.WaitGroup
					for range 10 {
						inside.Go(func() {
							outside := false
							Outside(func() { outside = monotonic() })
							require.True(t, outside)
						})
					}
					inside.Wait()
				})
			})
		}
		bubbles.Wait()
		time.Sleep(linger / 2) // the attendant is mostly still there
	}
}

func TestOneJobDoesNotWaitForAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		second := Chan[int](0)
		go Outside(func() { <-second })
		Outside(func() { second <- 1 }) // if the first came first, it is waiting
	})
}

func TestAPanicOutsideIsTheCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		require.PanicsWithValue(t, "of f", func() { Outside(func() { panic("of f") }) })
		left := true
		done := make(chan struct{})
		go func() {
			defer close(done)
			Outside(runtime.Goexit)
			left = false
		}()
		<-done
		require.True(t, left, "Goexit ends the caller")
	})
}

// While the attendant is held, a pause between calls has no new one summoned.
func TestHoldKeepsTheAttendant(t *testing.T) {
	defer leavesNothing(t)
	came := func() int {
		attendant.mu.Lock()
		defer attendant.mu.Unlock()
		return attendant.came
	}
	synctest.Test(t, func(t *testing.T) {
		release, other := Hold(), Hold()
		defer release()
		Outside(func() {})
		before := came()
		other()
		for range 3 {
			<-After(2 * linger)
		}
		require.Equal(t, before, came())
	})
}

func TestTheCollectorIsOff(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	synctest.Test(t, func(t *testing.T) { Outside(func() { require.True(t, monotonic()) }) })
}

func TestTheBubblesTimePasses(t *testing.T) {
	defer leavesNothing(t)
	began := time.Now()
	synctest.Test(t, func(t *testing.T) {
		var wait sync.WaitGroup
		Go(func() { time.Sleep(10 * linger) }) // is no part of the bubble, which ends before
		wait.Go(func() { time.Sleep(24 * time.Hour) })
		wait.Wait()
		synctest.Wait()
	})
	require.Less(t, time.Since(began), time.Hour)
}

func TestAfterAndTickAreReal(t *testing.T) {
	began := time.Now()
	synctest.Test(t, func(t *testing.T) {
		<-After(20 * time.Millisecond)
		ticks, stop := Tick(10 * time.Millisecond)
		<-ticks
		<-ticks
		stop()
		require.Equal(t, 2000, time.Now().Year(), "no time has passed inside")
	})
	require.GreaterOrEqual(t, time.Since(began), 40*time.Millisecond)
}

func TestReal(t *testing.T) {
	now := time.Now()
	require.Equal(t, now, Real(now))
	require.Zero(t, testing.AllocsPerRun(100, func() { Real(now) }))
	synctest.Test(t, func(t *testing.T) {
		require.True(t, Real(time.Time{}).IsZero())
		at := Real(time.Now().Add(time.Hour))
		require.WithinRange(t, at, now.Add(time.Hour), now.Add(2*time.Hour))
	})
}

func TestContext(t *testing.T) {
	defer leavesNothing(t)
	type key struct{}
	plain := t.Context()
	same, release := Context(plain)
	require.Equal(t, plain, same)
	release()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(context.WithValue(context.Background(), key{}, 1))
		outside, release := Context(ctx)
		defer release()
		Outside(func() { require.Equal(t, 1, outside.Value(key{})) })
		cancel(errors.New("enough"))
		Outside(func() { <-outside.Done() })
		require.ErrorIs(t, outside.Err(), context.Canceled)
		require.EqualError(t, context.Cause(outside), "enough")
	})
	synctest.Test(t, func(t *testing.T) { // the deadline, in real time
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		outside, release := Context(ctx)
		defer release()
		Outside(func() { <-outside.Done() })
		require.ErrorIs(t, outside.Err(), context.DeadlineExceeded)
		require.NoError(t, ctx.Err(), "no time has passed inside")
	})
	synctest.Test(t, func(t *testing.T) { // released, and ended before
		ctx, cancel := context.WithCancel(context.Background())
		outside, release := Context(ctx)
		release()
		require.Error(t, outside.Err())
		cancel()
		outside, release = Context(ctx)
		require.ErrorIs(t, outside.Err(), context.Canceled)
		release()
	})
}
