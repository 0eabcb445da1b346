package sched_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// strays are calls with a function's context that do not wait, from elsewhere. rt is the runtime of
// its task.
var strays = map[string]func(cx *sched.Context, rt *sched.Runtime){
	"Spawn": func(cx *sched.Context, _ *sched.Runtime) {
		p := new(probe[int])
		h := sched.Spawn(cx, sched.Future[int](p))
		notStarted(h)
		must(p.polls.Load() == 0 && p.cancels.Load() == 1, "it was not abandoned")
	},
	"Go": func(cx *sched.Context, _ *sched.Runtime) { notStarted(sched.Go(cx, mustNotRun)) },
	"SpawnTracked": func(cx *sched.Context, _ *sched.Runtime) {
		var tracker sched.TaskTracker
		notStarted(sched.SpawnTracked[int](cx, &tracker, new(probe[int])))
		must(tracker.Len() == 0, "it is counted")
	},
	"GoTracked": func(cx *sched.Context, _ *sched.Runtime) {
		var tracker sched.TaskTracker
		notStarted(sched.GoTracked(cx, &tracker, mustNotRun))
		must(tracker.Len() == 0, "it is counted")
	},
	"JoinSet.Spawn": func(cx *sched.Context, _ *sched.Runtime) {
		var set sched.JoinSet[int]
		must(set.Spawn(cx, new(probe[int])).Done(), "it is not done")
		r, ok := set.TryJoinNext()
		must(ok && isMisuse(r.Err), "%v", r.Err)
	},
	"JoinSet.Go": func(cx *sched.Context, _ *sched.Runtime) {
		var set sched.JoinSet[int]
		must(set.Go(cx, mustNotRun).Done(), "it is not done")
		r, ok := set.TryJoinNext()
		must(ok && isMisuse(r.Err), "%v", r.Err)
	},
	"TaskScope.Spawn": func(cx *sched.Context, _ *sched.Runtime) {
		var scope sched.TaskScope
		notStarted(scope.Spawn(cx, new(probe[struct{}])))
		must(scope.Len() == 0, "it is counted")
	},
	"TaskScope.Go": func(cx *sched.Context, _ *sched.Runtime) {
		var scope sched.TaskScope
		notStarted(scope.Go(cx, func(*sched.Context) error { panic("it ran") }))
		must(scope.Len() == 0, "it is counted")
	},
	"Shield": func(cx *sched.Context, _ *sched.Runtime) {
		cx.Unshield()
		cx.Shield()
	},
	"Coroutine.Begin": func(cx *sched.Context, _ *sched.Runtime) {
		defer func() {
			err, _ := recover().(error)
			must(errors.Is(err, sched.ErrMisuse), "%v", err)
		}()
		new(sched.Coroutine).Begin(cx, func(*sched.Context) error { panic("it ran") })
	},
	"Defer": func(cx *sched.Context, _ *sched.Runtime) {
		ran := false
		cx.Defer(deferred(func(*sched.Context) { ran = true }))
		must(ran, "it is postponed")
	},
	"BlockInPlace": func(cx *sched.Context, _ *sched.Runtime) {
		ran := false
		cx.BlockInPlace(func() { ran = true })
		must(ran, "it was not called")
	},
	"Now": func(cx *sched.Context, rt *sched.Runtime) {
		before := rt.Now()
		now := cx.Now()
		must(before <= now && now <= rt.Now(), "it is not the time")
	},
	"Canceled": func(cx *sched.Context, _ *sched.Runtime) {
		must(cx.Canceled() == (cx.Err() != nil), "it is not Err")
	},
	"Draining": func(cx *sched.Context, rt *sched.Runtime) {
		must(cx.Draining() == rt.Draining(), "it is not the runtime's")
	},
	"Runtime":  func(cx *sched.Context, rt *sched.Runtime) { must(cx.Runtime() == rt, "it is another one") },
	"Stackful": func(cx *sched.Context, _ *sched.Runtime) { must(cx.Stackful(), "it is a Poll's") },
	"Worker":   func(cx *sched.Context, _ *sched.Runtime) { must(cx.Worker() == -1, "%v", cx.Worker()) },
	"Driver":   func(cx *sched.Context, _ *sched.Runtime) { must(cx.Driver() == nil, "%v", cx.Driver()) },
	"Waker":    func(cx *sched.Context, _ *sched.Runtime) { cx.Waker().Wake() },
	"Enter": func(cx *sched.Context, rt *sched.Runtime) {
		t := freeTask(rt, func(*sched.Context) bool { return true })
		t.LetEnter()
		must(!cx.Enter(t) && !cx.Keeps(1), "it may enter")
	},
	"context.Context": func(cx *sched.Context, _ *sched.Runtime) {
		_, _ = cx.Deadline()
		must(cx.Value(contextKey{}) == nil && cx.String() != "", "")
		select {
		case <-cx.Done():
			must(errors.Is(cx.Err(), context.Canceled), "%v", cx.Err())
		default:
		}
	},
	"TryTick": func(cx *sched.Context, rt *sched.Runtime) {
		i := sched.NewInterval(time.Hour)
		_, ok := i.TryTick(cx)
		must(ok, "the first tick is due")
	},
}

// deferred is work that a function postpones.
type deferred func(cx *sched.Context)

func (f deferred) BeforeWait(cx *sched.Context) { f(cx) }

func mustRun(*sched.Context) (int, error) { return 0, nil }

func mustNotRun(*sched.Context) (int, error) { panic("it ran") }

// isMisuse requires that the error says to use the runtime.
func isMisuse(err error) bool {
	return errors.Is(err, sched.ErrMisuse) && strings.Contains(err.Error(), "the runtime: cx.Runtime()")
}

func notStarted[T any](h *sched.JoinHandle[T]) {
	must(h.Done(), "it is not done")
	_, err := h.Wait(context.Background())
	must(isMisuse(err), "%v", err)
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
			await(cx, sched.Go(cx, func(*sched.Context) (int, error) { return 0, nil }))
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
						must(!cx.Canceled(), "it is canceled")
						return await(cx, sched.Go(cx, mustRun)), nil
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
			_, err = outcome(t, sched.Go(rt, func(cx *sched.Context) (int, error) { // in the same memory, and on the same stack
				call(old, rt)
				must(!cx.Canceled(), "it is canceled")
				return await(cx, sched.Go(cx, mustRun)), nil
			}))
			require.NoError(t, err)
		})
	}
}

// The context of a Poll is its worker's. So what depends on the task is not asked for here.
func TestACallWithThePollsContextElsewhere(t *testing.T) {
	for name, call := range strays {
		if name == "Stackful" || name == "Worker" || name == "Driver" || name == "Waker" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			rt := start(t, sched.Config{Workers: 1})
			call := func(cx *sched.Context) {
				var done sync.WaitGroup
				done.Go(func() { call(cx, rt) })
				done.Wait()
			}
			var old *sched.Context
			_, err := outcome(t, sched.Spawn(rt, sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
				old = cx
				call(cx)
				must(!cx.Canceled(), "it is canceled")
				return 0, nil
			})))
			require.NoError(t, err)
			call(old)
			_, err = outcome(t, sched.Go(rt, mustRun))
			require.NoError(t, err)
		})
	}
}

// A future may be polled where the context is not at home. Only the order of both is up to the
// caller: the task waits in place here.
func TestAPollWithATasksContextElsewhere(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	_, err := outcome(t, sched.Go(rt, func(cx *sched.Context) (int, error) {
		elsewhere["a goroutine, while the task runs"](cx, func() {
			for range 1000 {
				cx.Proceed()
			}
			cx.Refund()
			h := sched.Spawn(rt, ready(1, nil))
			_, err := h.Poll(cx)
			must(err == sched.ErrPending, "%v", err)
			h.Detach()
			sleep := sched.Sleep(time.Hour)
			_, err = sleep.Poll(cx)
			must(err == sched.ErrPending, "%v", err)
			sleep.Cancel()
			v, err := sched.Shield(ready(1, nil)).Poll(cx)
			must(v == 1 && err == nil, "%v", err)
			_, err = sched.Yield().Poll(cx)
			must(err == sched.ErrPending, "%v", err)
		})
		return await(cx, sched.Go(cx, mustRun)), nil
	}))
	require.NoError(t, err)
}

// No wake-up is lost, of the task itself or of others, wherever it comes from.
func TestAWakeWithATasksContextElsewhere(t *testing.T) {
	for place, at := range elsewhere {
		t.Run(place, func(t *testing.T) {
			rt := start(t, sched.Config{Workers: 2})
			var ran atomic.Int64
			const n = 100
			_, err := outcome(t, sched.Go(rt, func(cx *sched.Context) (int, error) {
				at(cx, func() {
					for i := range n {
						cx.Wake(newTask(rt, i, func(*sched.Context) bool { ran.Add(1); return true }).Waker())
						cx.Wake(freeTask(rt, func(*sched.Context) bool { ran.Add(1); return true }).Waker())
						cx.Wake(sched.Waker{})
						cx.Wake(cx.Waker())
					}
				})
				return 0, nil
			}))
			require.NoError(t, err)
			eventually(t, "all tasks have run", func() bool { return ran.Load() == 2*n })
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

// A Body's function may use the context of the present run: it runs on the same worker.
func TestTheContextOfARunIsGoodInItsCoroutine(t *testing.T) {
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
			must(cx.Worker() == own.Worker() && cx.Waker() == own.Waker() && !cx.Canceled(), "it is another task's")
			h := sched.Go(cx, mustRun)
			cx.Shield()
			cx.Unshield()
			cx.BlockInPlace(func() {})
			_, err := sched.Await(own, h)
			must(err == nil, "%v", err)
			return nil
		})
	}).Wake()
	receive(t, "the function returns", done)
}

// A goroutine's Poll has the runtime of Block, and may have none.
func TestASpawnInTheWaitOfAGoroutine(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	spawn := sched.FutureFunc[*sched.JoinHandle[int]](func(cx *sched.Context) (*sched.JoinHandle[int], error) {
		return sched.Go(cx, mustRun), nil
	})
	h, err := sched.Block(t.Context(), rt, spawn)
	require.NoError(t, err)
	_, err = wait(t, h)
	require.NoError(t, err)
	defer func() {
		err, _ := recover().(error)
		require.ErrorIs(t, err, sched.ErrMisuse)
		require.ErrorContains(t, err, "pass a *Runtime")
	}()
	_, _ = sched.Await(t.Context(), spawn)
	t.Fatal("it was spawned")
}

// Otherwise a task that was to be detached would just be missing.
func TestASpawnElsewhereThatIsDetachedIsLogged(t *testing.T) {
	log := new(lockedBuffer)
	rt := start(t, sched.Config{Workers: 1, Logger: slog.New(slog.NewTextHandler(log, nil))})
	_, err := outcome(t, sched.Go(rt, func(cx *sched.Context) (int, error) {
		elsewhere["a goroutine, while the task runs"](cx, func() { sched.Go(cx, mustNotRun).Detach() })
		return 0, nil
	}))
	require.NoError(t, err)
	require.Contains(t, log.String(), "wrong context for sched.Go")
}

func TestTheErrorOfASpawnNamesTheCallAndTheRemedy(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	_, err := outcome(t, sched.Go(rt, func(cx *sched.Context) (int, error) {
		errs := make(chan error, 1)
		go func() {
			_, err := sched.Go(cx, mustRun).Wait(context.Background())
			errs <- err
			_, err = sched.Go(cx.Runtime(), mustRun).Wait(context.Background())
			errs <- err
		}()
		err, _ := sched.Await(cx, sched.Recv(errs))
		must(err.Error() == "sched: wrong context for sched.Go: its task or Poll has ended, or this is another goroutine or "+
			"task: pass the own task's context, or the runtime: cx.Runtime()", "%v", err)
		err, _ = sched.Await(cx, sched.Recv(errs))
		return 0, err
	}))
	require.NoError(t, err)
}
