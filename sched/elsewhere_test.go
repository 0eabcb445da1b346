package sched_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// strays are calls with a task's context, from elsewhere. rt is the runtime of the task.
var strays = map[string]func(cx *sched.Context, rt *sched.Runtime){
	"Spawn": func(cx *sched.Context, _ *sched.Runtime) { spawned(sched.Spawn(cx, ready(1, nil))) },
	"Go":    func(cx *sched.Context, _ *sched.Runtime) { spawned(sched.Go(cx, one)) },
	"GoTracked": func(cx *sched.Context, _ *sched.Runtime) {
		var tracker sched.TaskTracker
		spawned(sched.GoTracked(cx, &tracker, one))
	},
	"JoinSet": func(cx *sched.Context, _ *sched.Runtime) {
		var set sched.JoinSet[int]
		set.Go(cx, one)
		set.Spawn(cx, ready(1, nil))
		set.Close()
	},
	"TaskScope": func(cx *sched.Context, _ *sched.Runtime) {
		var scope sched.TaskScope
		scope.Go(cx, func(*sched.Context) error { return nil })
		scope.Spawn(cx, ready(struct{}{}, nil))
		scope.Close()
	},
	"Wake": func(cx *sched.Context, rt *sched.Runtime) {
		var ran atomic.Int64
		cx.Wake(newTask(rt, 0, func(*sched.Context) bool { ran.Add(1); return true }).Waker())
		cx.Wake(freeTask(rt, func(*sched.Context) bool { ran.Add(1); return true }).Waker())
		cx.Wake(sched.Waker{})
	},
	"Now": func(cx *sched.Context, rt *sched.Runtime) {
		before := rt.Now()
		now := cx.Now()
		must(before <= now && now <= rt.Now(), "it is not the time")
	},
	"BlockInPlace": func(cx *sched.Context, _ *sched.Runtime) {
		ran := false
		cx.BlockInPlace(func() { ran = true })
		must(ran, "it was not called")
	},
	"Defer": func(cx *sched.Context, _ *sched.Runtime) {
		ran := false
		cx.Defer(deferred(func(*sched.Context) { ran = true }))
		must(ran, "it is postponed")
	},
	"Worker": func(cx *sched.Context, _ *sched.Runtime) {
		must(cx.Worker() == -1 && cx.Driver() == nil, "%v", cx.Worker())
	},
}

// deferred is work that a function postpones.
type deferred func(cx *sched.Context)

func (f deferred) BeforeWait(cx *sched.Context) { f(cx) }

func one(*sched.Context) (int, error) { return 1, nil }

// spawned abandons a task that runs.
func spawned(h *sched.JoinHandle[int]) {
	h.Abort()
	h.Detach()
}

// elsewhere are places where a task's context does not belong. Each calls f and waits for its
// return, in a way that the task can.
var elsewhere = map[string]func(cx *sched.Context, f func()){
	"a goroutine, while the task runs": func(_ *sched.Context, f func()) {
		var done sync.WaitGroup
		done.Go(f)
		done.Wait()
	},
	"a goroutine, while the task works": func(cx *sched.Context, f func()) {
		done := make(chan struct{})
		go func() { defer close(done); f() }()
		for {
			await(cx, sched.Go(cx, one))
			await(cx, sched.Yield())
			select {
			case <-done:
				return
			default:
			}
		}
	},
	"a goroutine, while the task waits": func(cx *sched.Context, f func()) {
		done := make(chan struct{})
		go func() { defer close(done); f() }()
		_, err := sched.Await(cx, sched.Recv(done))
		must(errors.Is(err, sched.ErrChanClosed), "%v", err)
	},
	"another task": func(cx *sched.Context, f func()) {
		await(cx, sched.Go(cx, func(*sched.Context) (int, error) { f(); return 0, nil }))
	},
	"a task of another runtime": func(cx *sched.Context, f func()) {
		other := sched.New(sched.Config{Workers: 1})
		await(cx, sched.Go(other, func(*sched.Context) (int, error) { f(); return 0, nil }))
		go func() { _ = other.Close() }()
	},
}

func TestACallWithATasksContextElsewhere(t *testing.T) {
	for place, at := range elsewhere {
		for name, call := range strays {
			t.Run(place+"/"+name, func(t *testing.T) {
				for _, workers := range []int{1, 2} {
					rt := start(t, sched.Config{Workers: workers})
					_, err := outcome(t, sched.Go(rt, func(cx *sched.Context) (int, error) {
						at(cx, func() {
							for range 20 {
								call(cx, rt)
							}
						})
						return await(cx, sched.Go(cx, one)), nil
					}))
					require.NoError(t, err)
				}
			})
		}
	}
}

func TestACallWithATasksContextAfterItsEnd(t *testing.T) {
	for name, call := range strays {
		t.Run(name, func(t *testing.T) {
			rt := start(t, sched.Config{Workers: 1})
			var old *sched.Context
			_, err := outcome(t, sched.Go(rt, func(cx *sched.Context) (int, error) { old = cx; return 0, nil }))
			require.NoError(t, err)
			call(old, rt)
			_, err = outcome(t, sched.Go(rt, func(cx *sched.Context) (int, error) { // on the same stack
				call(old, rt)
				return await(cx, sched.Go(cx, one)), nil
			}))
			require.NoError(t, err)
		})
	}
}

// No task is lost, wherever it is spawned, and no wake-up, of the task itself or of others.
func TestNothingIsLostThatATasksContextStartsElsewhere(t *testing.T) {
	for place, at := range elsewhere {
		t.Run(place, func(t *testing.T) {
			rt := start(t, sched.Config{Workers: 2})
			var ran atomic.Int64
			count := func(*sched.Context) bool { ran.Add(1); return true }
			const n = 100
			_, err := outcome(t, sched.Go(rt, func(cx *sched.Context) (int, error) {
				at(cx, func() {
					for i := range n {
						cx.Wake(newTask(rt, i, count).Waker())
						cx.Wake(freeTask(rt, count).Waker())
						cx.Wake(cx.Waker())
						sched.Go(cx, func(*sched.Context) (int, error) { ran.Add(1); return 0, nil }).Detach()
					}
				})
				return 0, nil
			}))
			require.NoError(t, err)
			eventually(t, "all tasks have run", func() bool { return ran.Load() == 3*n })
		})
	}
}

// A task waits for nothing but a wake-up by another goroutine, which uses the task's context.
func TestATaskIsWokenByItsContextElsewhere(t *testing.T) {
	rt := start(t, sched.Config{Workers: 2})
	for range rounds(2000) {
		var woken atomic.Bool
		_, err := outcome(t, sched.Go(rt, func(cx *sched.Context) (int, error) {
			go func() {
				woken.Store(true)
				cx.Wake(cx.Waker())
			}()
			return sched.Await(cx, sched.FutureFunc[int](func(*sched.Context) (int, error) {
				if !woken.Load() {
					return 0, sched.ErrPending
				}
				return 0, nil
			}))
		}))
		require.NoError(t, err)
	}
}

// The context of a Poll is its worker's. A task is spawned from outside if another goroutine uses
// it, also after the Poll.
func TestASpawnWithThePollsContextElsewhere(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	elsewhere := func(cx *sched.Context) *sched.JoinHandle[int] {
		handle := make(chan *sched.JoinHandle[int], 1)
		go func() { handle <- sched.Go(cx, one) }()
		return <-handle
	}
	var cx *sched.Context
	inPoll, err := outcome(t, sched.Spawn(rt, sched.FutureFunc[*sched.JoinHandle[int]](
		func(own *sched.Context) (*sched.JoinHandle[int], error) {
			cx = own
			return elsewhere(own), nil
		})))
	require.NoError(t, err)
	for _, h := range []*sched.JoinHandle[int]{inPoll, elsewhere(cx)} {
		v, err := outcome(t, h)
		require.NoError(t, err)
		require.Equal(t, 1, v)
	}
}

// A Body's function may spawn with the context of the present run.
func TestASpawnWithTheContextOfARunInItsCoroutine(t *testing.T) {
	rt := start(t, sched.Config{Workers: 2})
	done := make(chan struct{})
	var c sched.Coroutine
	begun := false
	freeTask(rt, func(cx *sched.Context) bool {
		if begun {
			return c.Resume(cx)
		}
		begun = true
		return c.Begin(cx, func(own *sched.Context) error {
			defer close(done)
			must(cx.Worker() == own.Worker(), "it is another worker")
			_, err := sched.Await(own, sched.Go(cx, one))
			must(err == nil, "%v", err)
			return nil
		})
	}).Wake()
	receive(t, "the function returns", done)
}

// The Poll of a goroutine in Block spawns on the runtime that Block was given.
func TestASpawnInTheWaitOfAGoroutine(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	h, err := sched.Block(t.Context(), rt, sched.FutureFunc[*sched.JoinHandle[int]](
		func(cx *sched.Context) (*sched.JoinHandle[int], error) { return sched.Go(cx, one), nil }))
	require.NoError(t, err)
	_, err = h.Wait(context.Background())
	require.NoError(t, err)
}
