package sched_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/patience"
	"github.com/suiro-go/suiro/sched"
)

// dropped is a future that is never done, and counts the calls of its methods.
type dropped struct {
	polls, cancels atomic.Int64
}

func (d *dropped) Poll(*sched.Context) (int, error) { d.polls.Add(1); return 0, sched.ErrPending }
func (d *dropped) Cancel()                          { d.cancels.Add(1) }

// block is sched.Block, and fails the test if it does not return in time.
func block[T any](t *testing.T, rt *sched.Runtime, f sched.Future[T]) (T, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience.Limit)
	defer cancel()
	v, err := sched.Block(ctx, rt, f)
	if errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("not within %v: Block returns\n\n%s", patience.Limit, stacks())
	}
	return v, err
}

func TestBlockPollsOnTheCallingGoroutine(t *testing.T) {
	rt := start(t, sched.Config{Workers: 2}.Endless())
	polls := 0
	v, err := block(t, rt, sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
		require.Same(t, rt, cx.Runtime())
		require.Equal(t, -1, cx.Worker())
		require.Nil(t, cx.Driver())
		require.LessOrEqual(t, cx.Now(), rt.Now())
		switch polls++; polls {
		case 1:
			cx.Waker().Wake()
		case 2:
			cx.Wake(cx.Waker())
		case 3:
			_, _ = sched.Yield().Poll(cx)
		case 4:
			proceedToTheEnd(cx)
		default:
			return polls, nil
		}
		return 0, sched.ErrPending
	}))
	require.NoError(t, err)
	require.Equal(t, 5, v)
}

func TestBlockWaitsForTasksAndTimers(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		v, err := block[int](t, rt, sched.Spawn(rt, ready(3, nil)))
		require.NoError(t, err)
		require.Equal(t, 3, v)
		g := new(gate)
		var opener sync.WaitGroup
		opener.Go(func() {
			eventually(t, "it waits", func() bool { return g.polls.Load() == 1 })
			g.Open("open")
		})
		s, err := block(t, rt, g)
		require.NoError(t, err)
		require.Equal(t, "open", s)
		opener.Wait()
		var timer sched.Timer
		begin := rt.Now()
		at, err := block(t, rt, sched.FutureFunc[time.Duration](func(cx *sched.Context) (time.Duration, error) {
			if timer.Fired() {
				return cx.Now(), nil
			}
			rt.StartTimer(&timer, begin+3*time.Millisecond, cx.Waker())
			return 0, sched.ErrPending
		}))
		require.NoError(t, err)
		require.GreaterOrEqual(t, at, begin+3*time.Millisecond)
	})
}

func TestBlockEndsWithItsContextAndAbandonsTheFuture(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1}.Endless())
	for range 100 {
		ctx, cancel := context.WithCancelCause(t.Context())
		f := new(dropped)
		var canceler sync.WaitGroup
		canceler.Go(func() {
			for f.polls.Load() == 0 {
				time.Sleep(time.Microsecond)
			}
			cancel(nil)
		})
		_, err := sched.Block(ctx, rt, f)
		require.ErrorIs(t, err, context.Canceled)
		require.EqualValues(t, 1, f.cancels.Load())
		canceler.Wait()
	}
}

func TestBlockOnAClosedRuntimeAbandonsTheFuture(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	require.NoError(t, shut(t, rt))
	f := new(dropped)
	_, err := block(t, rt, f)
	require.ErrorIs(t, err, sched.ErrClosed)
	require.Zero(t, f.polls.Load())
	require.EqualValues(t, 1, f.cancels.Load())
}

func TestBlockStartsTheRuntime(t *testing.T) {
	rt := sched.New(sched.Config{Workers: 1})
	v, err := block(t, rt, sched.FutureFunc[int](func(cx *sched.Context) (int, error) { return 1, nil }))
	require.NoError(t, err)
	require.Equal(t, 1, v)
	require.NoError(t, shut(t, rt))
}

// waitFor waits in a goroutine for something that takes d.
func waitFor(d time.Duration) error {
	token := sched.NewCancellationToken()
	go func() { time.Sleep(d); token.Cancel() }()
	_, err := sched.Await(context.Background(), token.Canceled())
	return err
}

// Blockers are reused, but never across the border of a bubble, even after years of a bubble's
// time.
func TestWaitingInABubbleAndOutsideDoNotMeet(t *testing.T) {
	for range 20 {
		require.NoError(t, waitFor(time.Microsecond))
	}
	for _, age := range []time.Duration{0, 400 * 24 * time.Hour, 20 * 365 * 24 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(age)
			require.NoError(t, waitFor(time.Second))
		})
		for range 20 {
			require.NoError(t, waitFor(time.Microsecond))
		}
	}
}
