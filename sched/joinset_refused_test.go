package sched_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// closedRuntime refuses all tasks.
func closedRuntime(t testing.TB) *sched.Runtime {
	t.Helper()
	rt := sched.New(sched.Config{Workers: 1})
	require.NoError(t, rt.Close())
	return rt
}

func TestATaskThatIsRefusedEndsForOneOfManyThatWait(t *testing.T) {
	live := start(t, sched.Config{Workers: 2})
	closed := closedRuntime(t)
	for _, waiters := range []int{1, 31, 32, 33, 100} {
		for range rounds(100) {
			var set sched.JoinSet[int]
			lives := new(probe[int])
			set.Spawn(live, lives)
			results := make(chan error, waiters)
			for range waiters {
				next := set.JoinNext()
				go func() {
					_, err := sched.Await(context.Background(), next)
					results <- err
				}()
			}
			eventually(t, "they wait", func() bool { return set.Waiters() == waiters })
			spawned := make(chan struct{})
			go func() {
				defer close(spawned)
				set.Spawn(closed, new(probe[int]))
			}()
			receive(t, "a refused spawn returns", spawned)
			require.ErrorIs(t, receive(t, "one gets the refusal", results), sched.ErrClosed)
			lives.finish(1, nil)
			taken := 0 // the live task's result
			for range waiters - 1 {
				if err := receive(t, "the others end", results); err == nil {
					taken++
				} else {
					require.ErrorIs(t, err, sched.ErrEmpty)
				}
			}
			require.Equal(t, min(1, waiters-1), taken)
			set.Close()
		}
	}
}

func TestTheCancelOfARefusedTaskMayUseItsSet(t *testing.T) {
	closed := closedRuntime(t)
	for name, use := range map[string]func(set *sched.JoinSet[int], next sched.Future[int]){
		"Len":      func(set *sched.JoinSet[int], _ sched.Future[int]) { set.Len() },
		"AbortAll": func(set *sched.JoinSet[int], _ sched.Future[int]) { set.AbortAll() },
		"Close":    func(set *sched.JoinSet[int], _ sched.Future[int]) { set.Close() },
		"Spawn":    func(set *sched.JoinSet[int], _ sched.Future[int]) { set.Spawn(closed, new(probe[int])) },
	} {
		t.Run(name, func(t *testing.T) {
			var set sched.JoinSet[int]
			f := new(probe[int])
			f.onCancel = func() { use(&set, set.JoinNext()) }
			spawned := make(chan sched.AbortHandle, 1)
			go func() { spawned <- set.Spawn(closed, f) }()
			h := receive(t, "the spawn returns", spawned)
			require.True(t, h.Done())
			require.EqualValues(t, 1, f.cancels.Load())
			want := map[string]int{"Len": 1, "AbortAll": 1, "Close": 0, "Spawn": 2}[name]
			require.Equal(t, want, set.Len())
			for range want {
				_, err := sched.Await(context.Background(), set.JoinNext())
				require.ErrorIs(t, err, sched.ErrClosed)
			}
			_, err := sched.Await(context.Background(), set.JoinNext())
			require.ErrorIs(t, err, sched.ErrEmpty)
		})
	}
}

// A runtime may end while a task is about to enter its set.
func TestASetHasEveryTaskThatItsRuntimesEndCatches(t *testing.T) {
	for range rounds(500) {
		rt := sched.New(sched.Config{Workers: 1})
		require.NoError(t, rt.Start())
		var set sched.JoinSet[int]
		const spawners, each = 2, 8
		var spawning sync.WaitGroup
		for range spawners {
			spawning.Add(1)
			go func() {
				defer spawning.Done()
				for range each {
					set.Spawn(rt, new(probe[int]))
				}
			}()
		}
		require.NoError(t, shut(t, rt))
		spawning.Wait()
		require.Equal(t, spawners*each, set.Len())
		for range spawners * each {
			_, err := sched.Await(context.Background(), set.JoinNext())
			require.ErrorIs(t, err, sched.ErrClosed)
		}
		_, err := sched.Await(context.Background(), set.JoinNext())
		require.ErrorIs(t, err, sched.ErrEmpty)
	}
}

// An abort, or the set's close, also affects a task that is being spawned at that time.
func TestNoTaskEntersASetUnseen(t *testing.T) {
	rt := start(t, sched.Config{Workers: 2})
	for name, end := range map[string]func(set *sched.JoinSet[int]){
		"AbortAll": (*sched.JoinSet[int]).AbortAll, "Close": (*sched.JoinSet[int]).Close,
	} {
		t.Run(name, func(t *testing.T) {
			for range rounds(500) {
				var set sched.JoinSet[int]
				f := new(probe[int])
				handles := make(chan sched.AbortHandle, 1)
				go func() { handles <- set.Spawn(rt, f) }()
				eventually(t, "the task is in the set, or done", func() bool { return set.Len() == 1 || f.cancels.Load() == 1 })
				end(&set)
				receive(t, "the spawn returns", handles)
				eventually(t, "the task is abandoned", func() bool { return f.cancels.Load() == 1 })
			}
		})
	}
}
