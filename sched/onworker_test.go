package sched_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/patience"
	"github.com/suiro-go/suiro/sched"
)

// waits are calls that would wait for ever on an ordinary goroutine, without ctx's end.
func waits(rt *sched.Runtime) map[string]func(ctx context.Context) error {
	never := sched.NewCancellationToken()
	return map[string]func(ctx context.Context) error{
		"sched.Await": func(ctx context.Context) error {
			_, err := sched.Await(ctx, never.Canceled())
			return err
		},
		"sched.Block": func(ctx context.Context) error {
			_, err := sched.Block(ctx, rt, never.Canceled())
			return err
		},
		"sched.JoinHandle.Wait": func(ctx context.Context) error {
			h := sched.Spawn(rt, never.Canceled())
			defer h.Abort()
			_, err := h.Wait(ctx)
			return err
		},
	}
}

// ends are calls that wait for the end of the runtime.
func ends(rt *sched.Runtime) map[string]func(ctx context.Context) error {
	return map[string]func(ctx context.Context) error{
		"sched.Runtime.Close":    func(context.Context) error { return rt.Close() },
		"sched.Runtime.Shutdown": rt.Shutdown,
	}
}

// places are ways to call a function on a worker.
var places = map[string]struct {
	remedy string
	call   func(t *testing.T, rt *sched.Runtime, f func())
}{
	"a task": {"the task's context", func(t *testing.T, rt *sched.Runtime, f func()) {
		joined(t, sched.Go(rt, func(*sched.Context) (int, error) { f(); return 0, nil }))
	}},
	"a task after a wait": {"the task's context", func(t *testing.T, rt *sched.Runtime, f func()) {
		joined(t, sched.Go(rt, func(cx *sched.Context) (int, error) {
			defer f()
			return sched.Await(cx, sched.Go(cx, func(*sched.Context) (int, error) { return 0, nil }))
		}))
	}},
	"a deferred call after Goexit": {"the task's context", func(t *testing.T, rt *sched.Runtime, f func()) {
		_, err := waitInTime(t, sched.Go(rt, func(*sched.Context) (int, error) {
			defer f()
			runtime.Goexit()
			return 0, nil
		}))
		require.ErrorIs(t, err, sched.ErrGoexit)
	}},
	"a Poll in a task": {"the task's context", func(t *testing.T, rt *sched.Runtime, f func()) {
		joined(t, sched.Go(rt, func(cx *sched.Context) (int, error) {
			return sched.Await(cx, sched.FutureFunc[int](func(*sched.Context) (int, error) { f(); return 0, nil }))
		}))
	}},
	"a Poll": {"a future", func(t *testing.T, rt *sched.Runtime, f func()) {
		joined(t, sched.Spawn(rt, sched.FutureFunc[int](func(*sched.Context) (int, error) { f(); return 0, nil })))
	}},
	"a Run": {"a future", func(t *testing.T, rt *sched.Runtime, f func()) {
		ran := make(chan struct{})
		newTask(rt, 0, func(*sched.Context) bool { f(); close(ran); return true }).Wake()
		receive(t, "a task runs", ran)
	}},
	"a Coroutine": {"the task's context", func(t *testing.T, rt *sched.Runtime, f func()) {
		ran := make(chan struct{})
		newTask(rt, 0, func(cx *sched.Context) bool {
			var c sched.Coroutine
			return c.Begin(cx, func(*sched.Context) error { f(); close(ran); return nil })
		}).Wake()
		receive(t, "a task runs", ran)
	}},
}

// joined is the result of a task that succeeds.
func joined[T any](t *testing.T, h *sched.JoinHandle[T]) T {
	t.Helper()
	v, err := waitInTime(t, h)
	require.NoError(t, err)
	return v
}

func waitInTime[T any](t *testing.T, h *sched.JoinHandle[T]) (T, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience.Limit)
	defer cancel()
	v, err := h.Wait(ctx)
	require.NotErrorIs(t, err, context.DeadlineExceeded, "a worker blocks\n\n%s", stacks())
	return v, err
}

// refuses requires that each call is refused, by an error that names the call and the remedy.
func refuses(t *testing.T, calls map[string]func(ctx context.Context) error, remedy string, on func(f func())) {
	t.Helper()
	for name, call := range calls {
		err := errors.New("it was not called")
		on(func() { err = call(t.Context()) })
		require.ErrorIs(t, err, sched.ErrBlocksWorker, name)
		require.ErrorContains(t, err, name+" on worker ")
		require.ErrorContains(t, err, remedy)
	}
}

// onRuntimes runs a test on runtimes with and without a driver, and so with workers that are locked
// to threads and others.
func onRuntimes(t *testing.T, test func(t *testing.T, rt *sched.Runtime)) {
	for _, workers := range []int{1, 2} {
		t.Run(fmt.Sprintf("sleeper/%d", workers), func(t *testing.T) {
			test(t, start(t, sched.Config{Workers: workers}))
		})
		for name, unlocked := range map[string]bool{"locked": false, "on any thread": true} {
			t.Run(fmt.Sprintf("%s/%d", name, workers), func(t *testing.T) {
				rt, _ := startFakes(t, sched.Config{Workers: workers, AnyThread: unlocked})
				test(t, rt)
			})
		}
	}
}

func TestACallThatWouldBlockAWorkerIsRefused(t *testing.T) {
	onRuntimes(t, func(t *testing.T, rt *sched.Runtime) {
		for name, place := range places {
			t.Run(name, func(t *testing.T) {
				on := func(f func()) { place.call(t, rt, f) }
				refuses(t, waits(rt), place.remedy, on)
				refuses(t, ends(rt), "another goroutine", on)
			})
		}
		joined(t, sched.Go(rt, func(*sched.Context) (int, error) { return 0, nil })) // it goes on
	})
}

func TestAWaitForAnotherRuntimeIsRefusedOnAWorker(t *testing.T) {
	other := start(t, sched.Config{Workers: 1})
	onRuntimes(t, func(t *testing.T, rt *sched.Runtime) {
		refuses(t, waits(other), "the task's context", func(f func()) { places["a task"].call(t, rt, f) })
	})
}

// A runtime can be closed by a task of another.
func TestATaskClosesAnotherRuntime(t *testing.T) {
	onRuntimes(t, func(t *testing.T, rt *sched.Runtime) {
		joined(t, sched.Go(rt, func(*sched.Context) (int, error) {
			for name, end := range ends(sched.New(sched.Config{Workers: 1})) {
				must(end(context.Background()) == nil, "%s fails", name)
			}
			other := sched.New(sched.Config{Workers: 1})
			must(other.Start() == nil && other.Close() == nil, "a runtime ends")
			return 0, nil
		}))
	})
}

func TestARefusedEndHasNoEffect(t *testing.T) {
	onRuntimes(t, func(t *testing.T, rt *sched.Runtime) {
		for _, end := range ends(rt) {
			_, err := waitInTime(t, sched.Go(rt, func(*sched.Context) (int, error) { return 0, end(context.Background()) }))
			require.ErrorIs(t, err, sched.ErrBlocksWorker)
			require.False(t, rt.Draining().IsCanceled())
			joined(t, sched.Go(rt, func(*sched.Context) (int, error) { return 0, nil }))
		}
	})
}

// The call gives back what it waits for.
func TestARefusedWaitAbandonsItsFuture(t *testing.T) {
	onRuntimes(t, func(t *testing.T, rt *sched.Runtime) {
		f := new(dropped)
		_, err := waitInTime(t, sched.Go(rt, func(*sched.Context) (int, error) { return sched.Await(context.Background(), f) }))
		require.ErrorIs(t, err, sched.ErrBlocksWorker)
		require.EqualValues(t, 1, f.cancels.Load())
	})
}

func TestWhatNeedsNoWaitSucceedsOnAWorker(t *testing.T) {
	onRuntimes(t, func(t *testing.T, rt *sched.Runtime) {
		done := sched.Go(rt, func(*sched.Context) (int, error) { return 7, nil })
		eventually(t, "a task is done", done.Done)
		for _, place := range []string{"a task", "a Poll", "a Run"} {
			places[place].call(t, rt, func() {
				polls := 0
				v, err := sched.Await(context.Background(), sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
					if polls++; polls < 3 {
						cx.Waker().Wake()
						return 0, sched.ErrPending
					}
					return polls, nil
				}))
				must(v == 3 && err == nil, "Wait: %d, %v", v, err)
				v, err = sched.Block(context.Background(), rt, ready(4, nil))
				must(v == 4 && err == nil, "Block: %d, %v", v, err)
				v, err = done.Wait(context.Background())
				must(v == 7 && err == nil, "JoinHandle.Wait: %d, %v", v, err)
			})
		}
	})
}

func TestAWorkerMayWaitInBlockInPlace(t *testing.T) {
	onUnwatched(t, func(t *testing.T, rt *sched.Runtime) {
		in := func(cx *sched.Context) (n int, err error) {
			cx.BlockInPlace(func() {
				cx.BlockInPlace(func() {})
				n, err = sched.Go(rt, func(*sched.Context) (int, error) { return 42, nil }).Wait(context.Background())
				for name, end := range ends(rt) {
					must(errors.Is(end(context.Background()), sched.ErrBlocksWorker), "%s waits for its own worker", name)
				}
			})
			_, after := sched.Await(context.Background(), new(dropped))
			must(errors.Is(after, sched.ErrBlocksWorker), "after BlockInPlace: %v", after)
			return n, err
		}
		require.Equal(t, 42, joined(t, sched.Go(rt, in)))
		require.Equal(t, 42, joined(t, sched.Spawn(rt, sched.FutureFunc[int](in))))
	})
}

func TestGoroutinesAndTimersFunctionsMayWait(t *testing.T) {
	onRuntimes(t, func(t *testing.T, rt *sched.Runtime) {
		wait := func() error {
			_, err := sched.Go(rt, func(*sched.Context) (int, error) { return 0, nil }).Wait(t.Context())
			return err
		}
		require.NoError(t, wait())
		errs := make(chan error, 1)
		rt.AfterFunc(time.Millisecond, func() { errs <- wait() })
		require.NoError(t, receive(t, "a timer fires", errs))
		joined(t, sched.Go(rt, func(cx *sched.Context) (int, error) { // a goroutine that a task starts
			errs := make(chan error, 1)
			go func() { errs <- wait() }()
			v, err := sched.Await(cx, sched.Recv(errs))
			return 0, errors.Join(v, err)
		}))
	})
}

// Each hook that runs on a worker.
func TestHooksMustNotWait(t *testing.T) {
	type hook struct {
		name string
		err  error
	}
	seen := make(chan hook, 1000)
	note := func(name string) {
		_, err := sched.Await(context.Background(), new(dropped))
		select {
		case seen <- hook{name, err}:
		default:
		}
	}
	cfg := sched.Config{Workers: 1, Hooks: sched.Hooks{
		WorkerStart:   func(int) { note("WorkerStart") },
		WorkerStop:    func(int) { note("WorkerStop") },
		WorkerPark:    func(int) { note("WorkerPark") },
		WorkerUnpark:  func(int) { note("WorkerUnpark") },
		TaskPollStart: func(int, sched.TaskID) { note("TaskPollStart") },
		TaskPollEnd:   func(int, sched.TaskID) { note("TaskPollEnd") },
		TaskEnd:       func(sched.TaskID, error) { note("TaskEnd") },
	}}
	cfg.NewDriver = func(int) (sched.Driver, error) { note("NewDriver"); return newFake(), nil }
	rt := sched.New(cfg)
	for range 3 {
		joined(t, sched.Go(rt, func(*sched.Context) (int, error) { return 0, nil }))
		eventually(t, "the worker parks", func() bool { return rt.Stats().Parked == 1 })
	}
	require.NoError(t, shut(t, rt))
	close(seen)
	names := map[string]bool{}
	for h := range seen {
		names[h.name] = true
		require.ErrorIs(t, h.err, sched.ErrBlocksWorker, h.name)
		require.ErrorContains(t, h.err, "on worker 0")
	}
	require.Len(t, names, 8)
}

func TestTheSlowTaskHookMayWait(t *testing.T) {
	var rt *sched.Runtime
	errs := make(chan error, 1)
	rt = start(t, sched.Config{Workers: 2, SlowTask: time.Millisecond, Hooks: sched.Hooks{SlowTask: func(sched.SlowTask) {
		_, err := sched.Go(rt, func(*sched.Context) (int, error) { return 0, nil }).Wait(context.Background())
		select {
		case errs <- err:
		default:
		}
	}}}.Endless())
	joined(t, sched.Go(rt, func(*sched.Context) (int, error) {
		for end := time.Now().Add(patience.Limit); len(errs) == 0 && time.Now().Before(end); {
		}
		return 0, nil
	}))
	require.NoError(t, receive(t, "the hook returns", errs))
}

func TestARefusalInABubble(t *testing.T) {
	outside := start(t, sched.Config{Workers: 1})
	for _, workers := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			rt := sched.New(sched.Config{Workers: workers})
			defer rt.Close()
			for _, rt := range []*sched.Runtime{rt, outside} {
				for name, place := range places {
					if name != "a Run" && name != "a Coroutine" { // these wait by real time
						refuses(t, waits(rt), place.remedy, func(f func()) { place.call(t, rt, f) })
						refuses(t, ends(rt), "another goroutine", func(f func()) { place.call(t, rt, f) })
					}
				}
			}
		})
	}
}

// Stacks of goroutines that have waited are used again by tasks, which are refused all the same.
func TestAStackThatIsUsedAgainIsLookedAtAgain(t *testing.T) {
	rt := start(t, sched.Config{Workers: 2, Coroutines: 1})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range rounds(100) {
				var waiting sync.WaitGroup
				for range 8 {
					waiting.Go(func() { _, _ = sched.Go(rt, func(*sched.Context) (int, error) { return 0, nil }).Wait(t.Context()) })
				}
				waiting.Wait()
				var tasks []*sched.JoinHandle[int]
				for range 8 {
					tasks = append(tasks, sched.Go(rt, func(*sched.Context) (int, error) {
						return sched.Await(t.Context(), new(dropped))
					}))
				}
				for _, h := range tasks {
					_, err := h.Wait(t.Context())
					if !errors.Is(err, sched.ErrBlocksWorker) {
						t.Errorf("a task waited: %v", err)
					}
				}
			}
		})
	}
	all.Wait()
}
