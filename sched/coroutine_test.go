package sched_test

import (
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// coroutineStacks is the number of stacks on which stackful tasks run.
func coroutineStacks() int { return strings.Count(stacks(), "sched.(*coroutine).serve(") }

// inParallel runs n stackful tasks that exist at the same time, and then calls end.
func inParallel(t *testing.T, rt *sched.Runtime, n int, end func()) {
	t.Helper()
	gates := make([]gate, n)
	var handles []*sched.JoinHandle[string]
	for i := range gates {
		handles = append(handles, sched.Go(rt, func(cx *sched.Context) (string, error) {
			v, err := sched.Await[string](cx, &gates[i])
			end()
			return v, err
		}))
	}
	for i := range gates {
		eventually(t, "a task waits", func() bool { return gates[i].polls.Load() == 1 })
	}
	for i := range gates {
		gates[i].Open("")
	}
	for _, h := range handles {
		_, _ = wait(t, h)
	}
}

func TestAStackIsUsedAgain(t *testing.T) {
	eventually(t, "the stacks of earlier tests end", func() bool { return coroutineStacks() == 0 })
	rt := start(t, sched.Config{Workers: 1})
	for range 100 {
		_, err := wait(t, sched.Go(rt, func(*sched.Context) (int, error) { return 0, nil }))
		require.NoError(t, err)
	}
	require.Equal(t, 1, coroutineStacks())
	require.EqualValues(t, 99, atEnd(t, rt).Total.CoroutinesReused)
	eventually(t, "the stack ends", func() bool { return coroutineStacks() == 0 })
}

func TestUnusedStacksAreBounded(t *testing.T) {
	const most = 5
	rt := start(t, sched.Config{Workers: 1, Coroutines: most})
	before := coroutineStacks()
	for range 3 {
		inParallel(t, rt, 50, func() {})
		pass(t, rt, 0)
		require.Equal(t, before+most, coroutineStacks())
	}
	require.NoError(t, shut(t, rt))
	require.Equal(t, before, coroutineStacks())
}

// A stack on which a task has called runtime.Goexit cannot end alone, but can run further tasks.
func TestAStackThatATaskHasExitedServesOn(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		for range 5 {
			inParallel(t, rt, 10, runtime.Goexit)
		}
		for range 20 {
			v, err := wait(t, sched.Go(rt, func(cx *sched.Context) (int, error) {
				_, err := sched.Await(cx, sched.Yield())
				return 7, err
			}))
			require.NoError(t, err)
			require.Equal(t, 7, v)
		}
		for home := range rt.Workers() {
			pass(t, rt, home)
		}
		require.NoError(t, shut(t, rt))
	})
}

func TestGoexitInAStackfulTaskIsItsError(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		for range 10 {
			deferred := false
			_, err := wait(t, sched.Go(rt, func(cx *sched.Context) (int, error) {
				defer func() { deferred = true }()
				if _, err := sched.Await(cx, sched.Yield()); err != nil {
					return 0, err
				}
				runtime.Goexit()
				return 1, nil
			}))
			require.ErrorIs(t, err, sched.ErrGoexit)
			require.True(t, deferred)
		}
	})
}

func TestAPanicInAStackfulTaskIsItsError(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		_, err := wait(t, sched.Go(rt, func(cx *sched.Context) (int, error) {
			if _, err := sched.Await(cx, sched.Yield()); err != nil {
				return 0, err
			}
			return raise("deep")
		}))
		var p *sched.PanicError
		require.ErrorAs(t, err, &p)
		require.Equal(t, "deep", p.Value)
		require.Contains(t, string(p.Stack), "sched_test.raise")
		_, err = wait(t, sched.Go(rt, func(*sched.Context) (int, error) { return 1, nil }))
		require.NoError(t, err)
	})
}

// Neither workers nor stacks stay behind, in whatever state they were.
func TestNoGoroutineOutlivesItsRuntime(t *testing.T) {
	before := runtime.NumGoroutine()
	for i := range 10 {
		rt := start(t, sched.Config{Workers: 1 + i%4})
		inParallel(t, rt, 20, func() {})
		inParallel(t, rt, 5, runtime.Goexit)
		for range 10 {
			sched.Go(rt, func(cx *sched.Context) (string, error) { return sched.Await[string](cx, new(gate)) }).Detach()
		}
		require.NoError(t, shut(t, rt))
	}
	eventually(t, "the goroutines end", func() bool { return runtime.NumGoroutine() <= before })
}

// A suspended stack is unwound on its own thread, so that its deferred calls run. These may even
// try to wait.
func TestCloseUnwindsSuspendedTasks(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		var deferred, waiting atomic.Int64
		const n = 20
		var handles []*sched.JoinHandle[string]
		for range n {
			handles = append(handles, sched.Go(rt, func(cx *sched.Context) (string, error) {
				defer func() {
					if _, err := sched.Await[string](cx, new(gate)); err == sched.ErrCanceled {
						deferred.Add(1)
					}
				}()
				waiting.Add(1)
				return sched.Await[string](cx, new(gate))
			}))
		}
		eventually(t, "all wait", func() bool { return waiting.Load() == n })
		require.NoError(t, shut(t, rt))
		require.EqualValues(t, n, deferred.Load())
		for _, h := range handles {
			_, err := wait(t, h)
			require.ErrorIs(t, err, sched.ErrCanceled)
		}
	})
}

func TestATaskThatWillNotEndIsUnwoundAtClose(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		waiting := make(chan struct{})
		deferred := false
		h := sched.Go(rt, func(cx *sched.Context) (int, error) {
			defer func() { deferred = true }()
			close(waiting)
			for {
				_, _ = sched.Await[string](cx, new(gate))
			}
		})
		receive(t, "it waits", waiting)
		require.NoError(t, shut(t, rt))
		_, err := wait(t, h)
		require.Error(t, err)
		require.True(t, deferred)
	})
}

// Several runtimes wake each other's tasks, and only a wake-up ends a wait.
func TestRuntimesWakeEachOthersTasks(t *testing.T) {
	rts := []*sched.Runtime{start(t, sched.Config{Workers: 1}.Endless()), start(t, sched.Config{Workers: 2}.Endless()), start(t, sched.Config{Workers: 3}.Endless())}
	hops := int64(rounds(5000))
	var at atomic.Int64
	done := make(chan struct{})
	tasks := make([]*sched.Task, 2*len(rts))
	for i := range tasks {
		rt := rts[i%len(rts)]
		tasks[i] = freeTask(rt, func(cx *sched.Context) bool {
			if cx.Runtime() != rt {
				t.Error("a task ran in another runtime")
			}
			switch n := at.Add(1); {
			case n == hops:
				close(done)
			case n < hops:
				cx.Wake(tasks[(i+1)%len(tasks)].Waker())
			}
			return false
		})
		if i >= len(rts) {
			tasks[i].Pin(i)
		}
	}
	tasks[0].Wake()
	receive(t, "the token makes its rounds", done)
	v, err := wait(t, sched.Go(rts[0], func(cx *sched.Context) (int, error) {
		sum := 0
		for _, rt := range rts {
			v, err := sched.Await[int](cx, sched.Spawn(rt, ready(1, nil)))
			if err != nil {
				return 0, err
			}
			sum += v
		}
		return sum, nil
	}))
	require.NoError(t, err)
	require.Equal(t, len(rts), v)
}

// A hook that panics ends its task, in whatever state the task is, and the task's deferred calls
// run.
func TestAHookThatPanicsBetweenTwoRunsUnwindsAStackfulTask(t *testing.T) {
	var armed atomic.Bool
	rt := start(t, sched.Config{Workers: 1, Hooks: sched.Hooks{TaskPollStart: func(int, sched.TaskID) {
		if armed.CompareAndSwap(true, false) {
			panic("a bad hook")
		}
	}}})
	for range 3 { // so that the stack is used again
		oneshot, unwound := new(gate), make(chan struct{})
		h := sched.Go(rt, func(cx *sched.Context) (int, error) {
			defer close(unwound)
			_, err := sched.Await(cx, oneshot)
			return 0, err
		})
		eventually(t, "the task waits", func() bool { return oneshot.polls.Load() == 1 })
		armed.Store(true)
		oneshot.Open("sent")
		receive(t, "its deferred calls run", unwound)
		_, err := wait(t, h)
		require.ErrorContains(t, err, "a bad hook")
		v, err := wait(t, sched.Go(rt, func(cx *sched.Context) (int, error) {
			_, err := sched.Await(cx, sched.Yield())
			return 7, err
		}))
		require.NoError(t, err)
		require.Equal(t, 7, v)
	}
}
