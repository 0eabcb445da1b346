package blocking

import (
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAThreadLingersLessOftenTheLessThatHelps(t *testing.T) {
	var c lingerPolicy
	skip := func() (calls int) {
		for !c.shouldLinger() {
			calls++
		}
		return calls
	}
	require.Zero(t, skip(), "it does at first")
	for _, want := range []int{1, 3, 7, 15, 31, 63, 127, 255, 255, 255} {
		c.record(false)
		require.Equal(t, want, skip())
		require.Zero(t, skip(), "one try")
	}
	c.record(true)
	require.Zero(t, skip(), "it has helped")
	c.record(false)
	require.Equal(t, 1, skip())
}

// Goroutines make one call after the other, and some work in pairs, in which one waits for the
// other. So threads linger and are woken in turns. At the end all counts are 0.
func TestThreadsThatLingerAreCountedOut(t *testing.T) {
	for _, threads := range []int{2, 3, 8} {
		p := New(Config{MaxThreads: threads})
		var all sync.WaitGroup
		for g := range 4 {
			all.Go(func() {
				for range 300 {
					v, err := Do(t.Context(), p, func() (int, error) { return g, nil })
					if v != g || err != nil {
						t.Error(v, err)
					}
				}
			})
		}
		all.Wait()
		for range 300 {
			met := make(chan struct{})
			one := Submit(p, func() (int, error) { <-met; return 1, nil })
			other := Submit(p, func() (int, error) { close(met); return 2, nil })
			for want, h := range map[int]*Handle[int]{1: one, 2: other} {
				v, err := h.Wait(t.Context())
				require.NoError(t, err)
				require.Equal(t, want, v)
			}
		}
		require.NoError(t, p.Shutdown(t.Context()))
		require.Zero(t, p.threads)
		require.Zero(t, p.busy)
		require.Zero(t, p.searching)
		require.Zero(t, p.lingering)
		require.Zero(t, p.queue.Len())
	}
}

// An exit is a result whose Release exits the goroutine.
type exit struct{ released chan struct{} }

func (e exit) Release() {
	close(e.released)
	runtime.Goexit()
}

func TestAReleaseThatExitsTheGoroutineCostsThePoolNoThread(t *testing.T) {
	p := New(Config{MaxThreads: 1})
	for range 20 {
		started, goOn, released := make(chan struct{}), make(chan struct{}), make(chan struct{})
		h := Submit(p, func() (exit, error) {
			close(started)
			<-goOn
			return exit{released}, nil
		})
		<-started
		next := Submit(p, func() (int, error) { return 7, nil })
		require.False(t, h.Abort())
		close(goOn)
		<-released
		v, err := next.Wait(t.Context())
		require.NoError(t, err)
		require.Equal(t, 7, v)
	}
	require.NoError(t, p.Shutdown(t.Context()))
	require.Zero(t, p.threads)
	require.Zero(t, p.busy)
	require.Zero(t, p.searching)
	require.Zero(t, p.lingering)
}
