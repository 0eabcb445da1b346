package sched_test

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

func TestAfterAbortAllEachJoinReturnsAndThenNone(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		var set sched.JoinSet[int]
		var cleaned atomic.Int64
		ps, fs := probes[int](10)
		for _, f := range fs {
			set.Spawn(rt, f)
			set.Go(rt, func(cx *sched.Context) (int, error) {
				defer cleaned.Add(1)
				return sched.Await(cx, sched.Future[int](new(probe[int])))
			})
		}
		for _, p := range ps {
			p.polled(t)
		}
		set.AbortAll()
		for range 20 {
			_, err := do(t, rt, set.JoinNext())
			require.ErrorIs(t, err, sched.ErrCanceled)
		}
		_, err := do(t, rt, set.JoinNext())
		require.Equal(t, sched.ErrEmpty, err)
		for _, p := range ps {
			require.EqualValues(t, 1, p.cancels.Load())
		}
		require.LessOrEqual(t, cleaned.Load(), int64(10))
	})
}

func TestTasksAbortedBeforeTheirFirstRunAreJoined(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	var set sched.JoinSet[int]
	release := occupy(t, rt, 0)
	var ran atomic.Bool
	set.Spawn(rt, sched.FutureFunc[int](func(*sched.Context) (int, error) { ran.Store(true); return 1, nil }))
	h := set.Go(rt, func(*sched.Context) (int, error) { ran.Store(true); return 1, nil })
	require.False(t, h.Done())
	set.AbortAll()
	release()
	for range 2 {
		_, err := do(t, rt, set.JoinNext())
		require.ErrorIs(t, err, sched.ErrCanceled)
	}
	require.False(t, ran.Load())
	require.True(t, h.Done())
	h.Abort()
}

func TestOneTaskOfASetCanBeAborted(t *testing.T) {
	rt := start(t, sched.Config{Workers: 2})
	var set sched.JoinSet[int]
	ps, fs := probes[int](2)
	h := set.Spawn(rt, fs[0])
	set.Spawn(rt, fs[1])
	h.Abort()
	_, err := do(t, rt, set.JoinNext())
	require.ErrorIs(t, err, sched.ErrCanceled)
	require.True(t, h.Done())
	ps[1].finish(5, nil)
	v, err := do(t, rt, set.JoinNext())
	require.NoError(t, err)
	require.Equal(t, 5, v)
}

// Dropping the set aborts.
func TestCloseAbortsReleasesAndRefuses(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		var set sched.JoinSet[lease]
		var released atomic.Int64
		running := new(probe[lease])
		set.Spawn(rt, running)
		for range 3 {
			h := set.Spawn(rt, ready(lease{&released}, nil))
			eventually(t, "a task ends", h.Done)
		}
		running.polled(t)
		set.Close()
		require.Zero(t, set.Len())
		require.EqualValues(t, 3, released.Load())
		eventually(t, "the other is aborted", func() bool { return running.cancels.Load() == 1 })
		_, err := do(t, rt, set.JoinNext())
		require.Equal(t, sched.ErrEmpty, err)

		late := new(probe[lease])
		require.True(t, set.Spawn(rt, late).Done())
		require.True(t, set.Go(rt, func(*sched.Context) (lease, error) { panic("never called") }).Done())
		require.EqualValues(t, 1, late.cancels.Load())
		require.Zero(t, late.polls.Load())
		set.Close()
		require.EqualValues(t, 3, released.Load())
	})
}

func TestCloseEndsTheWaitForItsTasks(t *testing.T) {
	rt := start(t, sched.Config{Workers: 2})
	var set sched.JoinSet[int]
	set.Spawn(rt, new(probe[int]))
	h := sched.Spawn(rt, set.JoinNext())
	eventually(t, "it waits", func() bool { return set.Waiters() == 1 })
	set.Close()
	_, err := outcome(t, h)
	require.Equal(t, sched.ErrEmpty, err)
}

func TestShutdownOfASetIsDoneWhenItsTasksHaveEnded(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		var set sched.JoinSet[lease]
		var released atomic.Int64
		shield := new(probe[lease])
		set.Spawn(rt, sched.Shield(shield))
		shield.polled(t)
		eventually(t, "a task ends", set.Spawn(rt, ready(lease{&released}, nil)).Done)
		h := sched.Spawn(rt, set.Shutdown())
		eventually(t, "it waits", func() bool { return set.Waiters() == 1 })
		require.False(t, h.Done())
		shield.finish(lease{&released}, nil)
		_, err := outcome(t, h)
		require.NoError(t, err)
		require.EqualValues(t, 2, released.Load())
		require.Zero(t, set.Len())
	})
}

func TestAnAbandonedShutdownOfASetLeavesTheRest(t *testing.T) {
	rt := start(t, sched.Config{Workers: 2})
	var set sched.JoinSet[int]
	p := new(probe[int])
	set.Spawn(rt, sched.Shield(p))
	p.polled(t)
	h := sched.Spawn(rt, set.Shutdown())
	eventually(t, "it waits", func() bool { return set.Waiters() == 1 })
	h.Abort()
	_, err := outcome(t, h)
	require.Equal(t, sched.ErrCanceled, err)
	require.Zero(t, set.Waiters())
	p.finish(1, nil)
	v, err := do(t, rt, set.JoinNext())
	require.NoError(t, err)
	require.Equal(t, 1, v)
}

func TestTasksOfAClosedRuntimeAreJoinedWithErrClosed(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		other := start(t, sched.Config{Workers: 1})
		var set sched.JoinSet[int]
		release := occupy(t, rt, 0)
		p := new(probe[int])
		set.Spawn(rt, p)
		for range 3 {
			set.Go(rt, func(cx *sched.Context) (int, error) { return sched.Await(cx, sched.Future[int](new(probe[int]))) })
		}
		h := sched.Spawn(other, set.JoinNext())
		release()
		require.NoError(t, shut(t, rt))
		_, err := outcome(t, h)
		require.Error(t, err)
		set.Spawn(rt, p) // after Close
		set.Go(rt, func(*sched.Context) (int, error) { panic("never called") })
		for range 5 {
			_, err := do(t, other, set.JoinNext())
			require.Error(t, err)
			require.NotEqual(t, sched.ErrEmpty, err)
		}
		_, err = do(t, other, set.JoinNext())
		require.Equal(t, sched.ErrEmpty, err)
	})
}
