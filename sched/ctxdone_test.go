package sched_test

import (
	"context"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// contextKey is a key of values in contexts.
type contextKey struct{}

func TestDoneIsDoneWhenTheContextEndsAndNeedsNoGoroutine(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		const tasks = 50
		ctx, cancel := context.WithCancel(context.WithValue(context.Background(), contextKey{}, 1))
		before := runtime.NumGoroutine()
		ps, _ := probes[struct{}](tasks)
		var hs []*sched.JoinHandle[sched.Selected[struct{}]]
		for _, p := range ps {
			hs = append(hs, sched.Spawn(rt, sched.Select(sched.Done(ctx), sched.Future[struct{}](p))))
		}
		for _, p := range ps {
			p.polled(t)
		}
		// Other goroutines of the process come and go, such as the function of a timer that fires
		// now.
		hasFewGoroutines(t, before+tasks/2)
		require.False(t, hs[0].Done())
		cancel()
		for _, h := range hs {
			first, err := outcome(t, h)
			require.NoError(t, err)
			require.Equal(t, sched.Selected[struct{}]{Index: 0}, first)
		}
		_, err := do(t, rt, sched.Done(ctx))
		require.NoError(t, err, "of one that has ended")
	})
}

func TestDoneOfATokensContextAndOfOneThatNeverEnds(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	token := sched.NewCancellationToken()
	p := new(probe[struct{}])
	h := sched.Spawn(rt, sched.Select(sched.Done(token.Context()), sched.Done(context.Background()), sched.Future[struct{}](p)))
	p.polled(t)
	token.Cancel()
	first, err := outcome(t, h)
	require.NoError(t, err)
	require.Zero(t, first.Index)
}

// An observedContext counts the functions that wait for its end.
type observedContext struct {
	context.Context
	done        chan struct{} // its own channel, so that package context calls its Done
	waits, left int
}

func observe() *observedContext {
	return &observedContext{Context: context.Background(), done: make(chan struct{})}
}

func (c *observedContext) Done() <-chan struct{} { return c.done }

func (c *observedContext) AfterFunc(f func()) (stop func() bool) {
	c.waits++
	return func() bool { c.left++; return true }
}

func TestADroppedDoneLeavesNothingInItsContext(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	ctx := observe()
	for i := range 3 {
		_, err := do(t, rt, sched.Race(sched.Done(ctx), sched.Yield()))
		require.NoError(t, err)
		require.Equal(t, ctx.waits, ctx.left, "after %d", i)
	}
	require.NotZero(t, ctx.waits)
}

func TestWithContextEndsWithItsContextAndAbandonsTheFuture(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		p := new(probe[int])
		_, err := do(t, rt, sched.WithContext(ctx, p))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.EqualValues(t, 1, p.cancels.Load())

		ended, cancel := context.WithCancel(context.Background())
		cancel()
		p = new(probe[int])
		_, err = do(t, rt, sched.WithContext(ended, p))
		require.ErrorIs(t, err, context.Canceled)
		require.EqualValues(t, 1, p.polls.Load(), "it is polled once")
		require.EqualValues(t, 1, p.cancels.Load())
		v, err := do(t, rt, sched.WithContext(ended, ready(3, io.EOF)))
		require.Equal(t, io.EOF, err, "a result that is there wins")
		require.Equal(t, 3, v)
	})
}

func TestWithContextThatIsAbandonedAbandonsBoth(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	ctx := observe()
	p := new(probe[int])
	h := sched.Spawn(rt, sched.WithContext(ctx, p))
	p.polled(t)
	h.Abort()
	_, err := outcome(t, h)
	require.ErrorIs(t, err, sched.ErrCanceled)
	require.EqualValues(t, 1, p.cancels.Load())
	require.Equal(t, 1, ctx.left)

	p = new(probe[int])
	h = sched.Spawn(rt, sched.WithContext(ctx, p))
	p.polled(t)
	p.finish(1, nil)
	_, err = outcome(t, h)
	require.NoError(t, err)
	require.Equal(t, ctx.waits, ctx.left, "it waits on although the future is done")
	require.Zero(t, p.cancels.Load())
}
