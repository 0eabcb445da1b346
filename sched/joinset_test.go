package sched_test

import (
	"context"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

func TestJoinNextGivesTheResultsAsTheTasksEnd(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		var set sched.JoinSet[int]
		ps, fs := probes[int](4)
		for _, f := range fs {
			set.Spawn(rt, f)
		}
		require.Equal(t, 4, set.Len())
		for i, n := range []int{2, 0, 3, 1} {
			h := sched.Spawn(rt, set.JoinNext())
			eventually(t, "it waits", func() bool { return set.Waiters() == 1 })
			ps[n].finish(n, nil)
			got, err := outcome(t, h)
			require.NoError(t, err)
			require.Equal(t, n, got)
			require.Equal(t, 3-i, set.Len())
		}
		_, err := do(t, rt, set.JoinNext())
		require.Equal(t, sched.ErrEmpty, err)
	})
}

func TestASetTakesStackfulAndStacklessTasksHoweverTheyEnd(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		var set sched.JoinSet[int]
		set.Spawn(rt, ready(1, nil))
		set.Spawn(rt, ready(0, io.EOF))
		set.Spawn(rt, sched.FutureFunc[int](func(*sched.Context) (int, error) { return raise("stackless") }))
		set.Spawn(rt, sched.FutureFunc[int](func(*sched.Context) (int, error) { runtime.Goexit(); return 0, nil }))
		set.Go(rt, func(cx *sched.Context) (int, error) {
			_, err := sched.Await(cx, sched.Yield())
			return 2, err
		})
		set.Go(rt, func(*sched.Context) (int, error) { return 0, io.EOF })
		set.Go(rt, func(*sched.Context) (int, error) { return raise("stackful") })
		set.Go(rt, func(*sched.Context) (int, error) { runtime.Goexit(); return 0, nil })
		values, ends := 0, map[string]int{}
		for range 8 {
			v, err := do(t, rt, set.JoinNext())
			values += v
			if err != nil {
				ends[err.Error()]++
			}
		}
		require.Equal(t, 3, values)
		require.Equal(t, map[string]int{
			"EOF": 2, "sched: task panicked: stackless": 1, "sched: task panicked: stackful": 1, sched.ErrGoexit.Error(): 2,
		}, ends)
		require.Zero(t, set.Len())
	})
}

func TestEachResultGoesToOneOfThoseWhoWait(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		const tasks, joiners = 500, 4
		var set sched.JoinSet[int]
		var mu sync.Mutex
		seen := map[int]int{}
		var waiting sync.WaitGroup
		feeding := new(probe[int]) // keeps the set from being empty until all have been spawned
		set.Spawn(rt, feeding)
		for range joiners {
			h := sched.Go(rt, func(cx *sched.Context) (int, error) {
				for {
					v, err := sched.Await(cx, set.JoinNext())
					if err == sched.ErrEmpty {
						return 0, nil
					}
					mu.Lock()
					seen[v]++
					mu.Unlock()
				}
			})
			waiting.Go(func() { _, _ = h.Wait(context.Background()) })
		}
		for i := range tasks {
			set.Spawn(rt, sched.FutureFunc[int](func(*sched.Context) (int, error) { return i, nil }))
		}
		feeding.finish(-1, nil)
		awaitAll(t, &waiting)
		require.Len(t, seen, tasks+1)
		for v, n := range seen {
			require.Equal(t, 1, n, v)
		}
	})
}

func TestAnAbandonedJoinNextHasTakenNothing(t *testing.T) {
	rt := start(t, sched.Config{Workers: 2})
	var set sched.JoinSet[int]
	p := new(probe[int])
	set.Spawn(rt, p)
	h := sched.Spawn(rt, set.JoinNext())
	eventually(t, "it waits", func() bool { return set.Waiters() == 1 })
	h.Abort()
	_, err := outcome(t, h)
	require.ErrorIs(t, err, sched.ErrCanceled)
	require.Zero(t, set.Waiters())
	p.finish(3, nil)
	v, err := do(t, rt, set.JoinNext())
	require.NoError(t, err)
	require.Equal(t, 3, v)
}

// To poll every handle each time would take 10^10 polls.
func TestASetOfManyTasksIsJoinedInLinearTime(t *testing.T) {
	rt := start(t, sched.Config{Workers: 2})
	const tasks = 100_000
	var set sched.JoinSet[int]
	var gate sched.CancellationToken
	for range tasks {
		opened := gate.Canceled()
		set.Spawn(rt, sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
			_, err := opened.Poll(cx)
			return 1, err
		}))
	}
	h := sched.Go(rt, func(cx *sched.Context) (int, error) {
		sum := 0
		for {
			v, err := sched.Await(cx, set.JoinNext())
			if err != nil {
				return sum, err
			}
			sum += v
		}
	})
	gate.Cancel()
	sum, err := outcome(t, h)
	require.Equal(t, sched.ErrEmpty, err)
	require.Equal(t, tasks, sum)
}

func TestATaskMaySpawnIntoItsSet(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		var set sched.JoinSet[int]
		defer set.Close()
		var tree func(depth int) sched.Future[int]
		tree = func(depth int) sched.Future[int] {
			return sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
				if depth > 0 {
					set.Spawn(cx, tree(depth-1))
					set.Go(cx, tree(depth-1).Poll)
				}
				return 1, nil
			})
		}
		set.Spawn(rt, tree(7))
		sum := 0
		for set.Len() > 0 {
			v, err := do(t, rt, set.JoinNext())
			require.NoError(t, err)
			sum += v
		}
		require.Equal(t, 255, sum)
	})
}

// The task's future has notified the set already, but the result is not stored yet.
func TestJoinNextWaitsForATaskWhoseLastRunIsReturning(t *testing.T) {
	hold, leave := make(chan struct{}), make(chan struct{})
	var once sync.Once
	rt := start(t, sched.Config{Workers: 1, Hooks: sched.Hooks{TaskPollEnd: func(int, sched.TaskID) {
		once.Do(func() { close(hold); <-leave })
	}}})
	release := sync.OnceFunc(func() { close(leave) })
	t.Cleanup(release)
	other := start(t, sched.Config{Workers: 1})
	var set sched.JoinSet[int]
	set.Spawn(rt, ready(8, nil))
	receive(t, "the run is over", hold)
	next, polls := set.JoinNext(), new(atomic.Int64)
	h := sched.Spawn(other, sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
		v, err := next.Poll(cx)
		polls.Add(1)
		return v, err
	}))
	eventually(t, "it is polled", func() bool { return polls.Load() == 1 })
	require.False(t, h.Done())
	require.Equal(t, 1, set.Len())
	release()
	v, err := outcome(t, h)
	require.NoError(t, err)
	require.Equal(t, 8, v)
	require.Zero(t, set.Len())
}
