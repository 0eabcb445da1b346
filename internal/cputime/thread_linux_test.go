package cputime

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/patience"
)

// A thread that computes runs or waits for a processor: together that is the time that passes.
func TestAThreadThatComputesNeverSleeps(t *testing.T) {
	patience.Alone(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	thread := Thread()
	require.Positive(t, thread)
	for range 5 {
		from, ok := Of(thread)
		require.True(t, ok)
		require.True(t, from.Runnable)
		for time.Since(from.At) < 20*time.Millisecond {
		}
		to, ok := Of(thread)
		require.True(t, ok)
		waited := Waited(from, to)
		require.LessOrEqual(t, waited, to.At.Sub(from.At))
		if from.Sleeps == to.Sleeps { // Go may stop it meanwhile, to collect garbage
			require.InDelta(t, float64(to.At.Sub(from.At)), float64(to.Ran-from.Ran+waited), float64(time.Millisecond))
		}
	}
}

// A thread that sleeps does not wait for a processor.
func TestAThreadThatSleepsIsNotRunnable(t *testing.T) {
	patience.Alone(t)
	threads, end := make(chan int), make(chan bool)
	defer close(end)
	go func() {
		runtime.LockOSThread() // never unlocked: it sleeps while this goroutine waits
		threads <- Thread()
		<-end
	}()
	thread := <-threads
	late := time.Now().Add(patience.Limit)
	from, ok := Of(thread)
	for ok && from.Runnable && time.Now().Before(late) {
		from, ok = Of(thread)
	}
	require.True(t, ok)
	require.False(t, from.Runnable)
	time.Sleep(10 * time.Millisecond) // not for anything to happen, but for nothing to
	to, ok := Of(thread)
	require.True(t, ok)
	require.Zero(t, Waited(from, to))
	require.Less(t, to.Ran-from.Ran, time.Millisecond)
}

// A thread's reading of itself equals the reading by other threads.
func TestSelfAndRanAgreeWithOf(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, ok := Of(Thread())
	require.True(t, ok)
	thread, self := Self()
	require.Equal(t, Thread(), thread)
	ran, ok := Ran(thread)
	require.True(t, ok)
	after, ok := Of(thread)
	require.True(t, ok)
	require.True(t, self.Runnable)
	require.Negative(t, self.Queued)
	require.LessOrEqual(t, before.Ran, self.Ran)
	require.LessOrEqual(t, self.Ran, ran)
	require.LessOrEqual(t, ran, after.Ran)
	require.LessOrEqual(t, before.Sleeps, self.Sleeps)
	require.LessOrEqual(t, self.Sleeps, after.Sleeps)
}

func TestThereIsNoSuchThread(t *testing.T) {
	_, ok := Of(1 << 30)
	require.False(t, ok)
	_, ok = Of(0)
	require.False(t, ok)
	_, ok = Ran(1 << 27)
	require.False(t, ok)
}

func BenchmarkOf(b *testing.B) {
	thread := Thread()
	for b.Loop() {
		Of(thread)
	}
}

func BenchmarkSelf(b *testing.B) {
	for b.Loop() {
		Self()
	}
}
