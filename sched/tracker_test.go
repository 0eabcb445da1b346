package sched_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

func TestATrackersWaitIsDoneWhenItIsClosedAndEmpty(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		var tracker sched.TaskTracker
		p := new(probe[int])
		h := sched.SpawnTracked(rt, &tracker, sched.Future[int](p))
		require.Equal(t, 1, tracker.Len())
		waits := sched.Spawn(rt, tracker.Wait())
		eventually(t, "it waits", func() bool { return tracker.Waiters() == 1 })
		require.True(t, tracker.Close())
		require.False(t, tracker.Close())
		require.True(t, tracker.IsClosed())
		require.False(t, waits.Done(), "not empty")
		p.finish(1, nil)
		_, err := outcome(t, waits)
		require.NoError(t, err)
		require.Zero(t, tracker.Len())
		v, err := outcome(t, h)
		require.NoError(t, err)
		require.Equal(t, 1, v)
	})
}

func TestATrackersWaitIsNotDoneWhileItIsOpen(t *testing.T) {
	rt := start(t, sched.Config{Workers: 2})
	var tracker sched.TaskTracker
	_, err := outcome(t, sched.SpawnTracked(rt, &tracker, ready(1, nil)))
	require.NoError(t, err)
	waits := sched.Spawn(rt, tracker.Wait())
	eventually(t, "it waits", func() bool { return tracker.Waiters() == 1 })
	require.False(t, waits.Done())
	tracker.Close()
	_, err = outcome(t, waits)
	require.NoError(t, err)
}

func TestATrackerCountsTasksHoweverTheyEnd(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		var tracker sched.TaskTracker
		sched.SpawnTracked(rt, &tracker, sched.FutureFunc[int](func(*sched.Context) (int, error) { return raise("x") }))
		sched.SpawnTracked(rt, &tracker, sched.FutureFunc[int](func(*sched.Context) (int, error) { runtime.Goexit(); return 0, nil }))
		sched.SpawnTracked(rt, &tracker, sched.Future[int](new(probe[int]))).Abort()
		sched.GoTracked(rt, &tracker, func(*sched.Context) (int, error) { return raise("x") })
		sched.GoTracked(rt, &tracker, func(*sched.Context) (int, error) { runtime.Goexit(); return 0, nil })
		sched.GoTracked(rt, &tracker, func(cx *sched.Context) (int, error) {
			return sched.Await(cx, sched.Future[int](new(probe[int])))
		}).Abort()
		sched.GoTracked(rt, &tracker, func(cx *sched.Context) (int, error) {
			_, err := sched.Await(cx, sched.Track(&tracker, sched.Yield()))
			return 0, err
		}).Detach()
		tracker.Close()
		_, err := do(t, rt, tracker.Wait())
		require.NoError(t, err)
		require.Zero(t, tracker.Len())
	})
}

func TestATrackerCountsTasksThatNeverRan(t *testing.T) {
	rt, other := start(t, sched.Config{Workers: 1}), start(t, sched.Config{Workers: 1})
	var tracker sched.TaskTracker
	release := occupy(t, rt, 0)
	sched.GoTracked(rt, &tracker, func(*sched.Context) (int, error) { return 0, nil }).Abort()
	closed := make(chan error)
	go func() { closed <- rt.Close() }()
	sched.SpawnTracked(rt, &tracker, sched.Future[int](new(probe[int])))
	sched.GoTracked(rt, &tracker, func(cx *sched.Context) (int, error) {
		return sched.Await(cx, sched.Future[int](new(probe[int])))
	})
	tracker.Close()
	waits := sched.Spawn(other, tracker.Wait())
	release()
	require.NoError(t, receive(t, "the runtime closes", closed))
	sched.GoTracked(rt, &tracker, func(*sched.Context) (int, error) { return 0, nil })
	_, err := outcome(t, waits)
	require.NoError(t, err)
	require.Zero(t, tracker.Len())
}

func TestAClosedTrackerTakesTasksAndCanBeReopened(t *testing.T) {
	rt := start(t, sched.Config{Workers: 2})
	var tracker sched.TaskTracker
	tracker.Close()
	p := new(probe[int])
	sched.SpawnTracked(rt, &tracker, sched.Future[int](p))
	require.Equal(t, 1, tracker.Len())
	require.True(t, tracker.Reopen())
	require.False(t, tracker.Reopen())
	require.False(t, tracker.IsClosed())
	p.finish(0, nil)
	eventually(t, "it is empty", func() bool { return tracker.Len() == 0 })
	waits := sched.Spawn(rt, tracker.Wait())
	eventually(t, "it waits", func() bool { return tracker.Waiters() == 1 })
	tracker.Close()
	_, err := outcome(t, waits)
	require.NoError(t, err)
}

// The tracker was closed and empty at some time during the wait: that is enough.
func TestATrackersWaitIsDoneThoughItWasReopenedMeanwhile(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	var tracker sched.TaskTracker
	waits := sched.Spawn(rt, tracker.Wait())
	eventually(t, "it waits", func() bool { return tracker.Waiters() == 1 })
	release := occupy(t, rt, 0)
	tracker.Close()
	tracker.Reopen()
	defer tracker.Hold()()
	release()
	_, err := outcome(t, waits)
	require.NoError(t, err)
}

func TestAnAbandonedTrackersWaitLeavesNothing(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	var tracker sched.TaskTracker
	waits := sched.Spawn(rt, tracker.Wait())
	eventually(t, "it waits", func() bool { return tracker.Waiters() == 1 })
	waits.Abort()
	_, err := outcome(t, waits)
	require.ErrorIs(t, err, sched.ErrCanceled)
	require.Zero(t, tracker.Waiters())
}

func TestAHoldIsCountedUntilItIsReleasedOnce(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	var tracker sched.TaskTracker
	first, second := tracker.Hold(), tracker.Hold()
	tracker.Close()
	first()
	first()
	require.Equal(t, 1, tracker.Len())
	waits := sched.Spawn(rt, tracker.Wait())
	second()
	_, err := outcome(t, waits)
	require.NoError(t, err)
}
