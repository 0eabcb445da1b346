package sched_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/patience"
	"github.com/suiro-go/suiro/sched"
)

// wait is h.Wait, and fails the test if it does not return in time.
func wait[T any](t testing.TB, h *sched.JoinHandle[T]) (T, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience.Limit)
	defer cancel()
	v, err := h.Wait(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("not within %v: a task ends\n\n%s", patience.Limit, stacks())
	}
	return v, err
}

func ready[T any](v T, err error) sched.Future[T] {
	return sched.FutureFunc[T](func(*sched.Context) (T, error) { return v, err })
}

// A gate is a future that is pending until it is opened.
type gate struct {
	mu    sync.Mutex
	open  bool
	value string
	waker sched.Waker
	polls atomic.Int64
}

func (g *gate) Poll(cx *sched.Context) (string, error) {
	g.polls.Add(1)
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.open {
		g.waker = cx.Waker()
		return "", sched.ErrPending
	}
	return g.value, nil
}

func (g *gate) Open(value string) {
	g.mu.Lock()
	g.open, g.value = true, value
	w := g.waker
	g.mu.Unlock()
	w.Wake()
}

func TestAPendingFutureIsPolledAgainWhenWoken(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		g := new(gate)
		h := sched.Spawn(rt, g)
		eventually(t, "the future is polled", func() bool { return g.polls.Load() == 1 })
		g.Open("done")
		v, err := wait(t, h)
		require.NoError(t, err)
		require.Equal(t, "done", v)
		require.EqualValues(t, 2, g.polls.Load())
	})
}

func TestAnyNumberOfGoroutinesMayWait(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		g := new(gate)
		h := sched.Spawn(rt, g)
		got := make(chan string, 10)
		for range cap(got) {
			go func() {
				v, _ := h.Wait(context.Background())
				got <- v
			}()
		}
		g.Open("x")
		for range cap(got) {
			require.Equal(t, "x", receive(t, "a waiter returns", got))
		}
		v, _ := wait(t, h)
		require.Equal(t, "x", v, "again, later")
	})
}

func TestWaitEndsWithItsContextAndLeavesTheTaskAlone(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	g := new(gate)
	h := sched.Spawn(rt, g)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := h.Wait(ctx)
	require.ErrorIs(t, err, context.Canceled)
	g.Open("still there")
	v, err := wait(t, h)
	require.NoError(t, err)
	require.Equal(t, "still there", v)
	for range 100 { // an available result wins over a context that has ended
		v, err = h.Wait(ctx)
		require.NoError(t, err)
		require.Equal(t, "still there", v)
	}
}

func TestATaskMayAwaitAnother(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		g := new(gate)
		inner := sched.Spawn(rt, g)
		var awaiting []*sched.JoinHandle[string]
		var polls atomic.Int64
		for range 5 { // spread over the workers
			awaiting = append(awaiting, sched.Spawn(rt, sched.FutureFunc[string](func(cx *sched.Context) (string, error) {
				defer polls.Add(1)
				if v, err := inner.Poll(cx); err != nil {
					return v, err
				}
				return inner.Poll(cx) // a result stays available
			})))
		}
		eventually(t, "the tasks wait", func() bool { return polls.Load() == 5 })
		g.Open("inner")
		for _, h := range awaiting {
			v, err := wait(t, h)
			require.NoError(t, err)
			require.Equal(t, "inner", v)
		}
		require.EqualValues(t, 10, polls.Load())
	})
}

// Others may steal the task, so they are kept busy.
func TestATaskSpawnedByATaskRunsOnItsWorker(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		for home := range rt.Workers() {
			var releases []func()
			for other := range rt.Workers() {
				if other != home {
					releases = append(releases, occupy(t, rt, other))
				}
			}
			inner := make(chan *sched.JoinHandle[int], 1)
			newTask(rt, home, func(cx *sched.Context) bool {
				inner <- sched.Spawn(cx, sched.FutureFunc[int](func(cx *sched.Context) (int, error) { return cx.Worker(), nil }))
				return true
			}).Wake()
			at, err := wait(t, receive(t, "a task runs", inner))
			require.NoError(t, err)
			require.Equal(t, home, at)
			for _, release := range releases {
				release()
			}
		}
	})
}

// Each task waits for the others, so each needs a worker of its own.
func TestWhatIsSpawnedUsesEveryWorker(t *testing.T) {
	for _, from := range []string{"outside", "a task"} {
		for _, workers := range []int{2, 4, 7} {
			t.Run(fmt.Sprintf("from %s/%d", from, workers), func(t *testing.T) {
				rt := start(t, sched.Config{Workers: workers}) // with watches: a task may wait behind one that waits for it
				var all sync.WaitGroup
				all.Add(workers)
				var used sync.Map
				meet := sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
					used.Store(cx.Worker(), true)
					all.Done()
					all.Wait()
					return cx.Worker(), nil
				})
				if from == "outside" {
					for range workers {
						sched.Spawn(rt, meet).Detach()
					}
				} else {
					sched.Spawn(rt, sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
						for range workers {
							sched.Spawn(cx, meet).Detach()
						}
						return 0, nil
					})).Detach()
				}
				awaitAll(t, &all)
				for i := range workers {
					_, ok := used.Load(i)
					require.True(t, ok, "worker %d", i)
				}
			})
		}
	}
}

func TestSpawnStartsTheRuntime(t *testing.T) {
	rt := sched.New(sched.Config{Workers: 2})
	var spawners sync.WaitGroup
	for range 8 {
		spawners.Go(func() {
			v, err := sched.Spawn(rt, ready(1, nil)).Wait(t.Context())
			if v != 1 || err != nil {
				t.Error(v, err)
			}
		})
	}
	awaitAll(t, &spawners)
	require.NoError(t, shut(t, rt))
}

func TestWaitersGetErrClosedWhenTheRuntimeCloses(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		g := new(gate)
		h := sched.Spawn(rt, g)
		failed := make(chan error, 1)
		go func() {
			_, err := h.Wait(context.Background())
			failed <- err
		}()
		eventually(t, "the future is polled", func() bool { return g.polls.Load() == 1 })
		require.NoError(t, shut(t, rt))
		require.ErrorIs(t, receive(t, "Wait returns", failed), sched.ErrClosed)
		g.Open("too late")
		_, err := wait(t, h)
		require.ErrorIs(t, err, sched.ErrClosed)
		_, err = wait(t, sched.Spawn(rt, ready(1, nil)))
		require.ErrorIs(t, err, sched.ErrClosed, "spawned too late")
	})
}

func TestAResultOutlivesItsRuntime(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	h := sched.Spawn(rt, ready(7, nil))
	_, err := wait(t, h)
	require.NoError(t, err)
	require.NoError(t, shut(t, rt))
	for range 100 {
		v, err := wait(t, h)
		require.NoError(t, err)
		require.Equal(t, 7, v)
	}
}

func TestPollOfATaskWhoseRuntimeHasClosedIsErrClosed(t *testing.T) {
	gone := start(t, sched.Config{Workers: 1})
	abandoned := sched.Spawn(gone, new(gate))
	require.NoError(t, shut(t, gone))
	rt := start(t, sched.Config{Workers: 1})
	_, err := wait(t, sched.Spawn[string](rt, abandoned))
	require.ErrorIs(t, err, sched.ErrClosed)
}

func TestAFutureIsNotPolledAfterItsEnd(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		var polls atomic.Int64
		var waker sched.Waker
		h := sched.Spawn(rt, sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
			waker = cx.Waker()
			waker.Wake()
			polls.Add(1)
			return 1, nil
		}))
		_, err := wait(t, h)
		require.NoError(t, err)
		waker.Wake()
		for home := range rt.Workers() {
			pass(t, rt, home)
		}
		require.EqualValues(t, 1, polls.Load())
	})
}

func TestContextTellsWhereATaskRuns(t *testing.T) {
	rt, fakes := startFakes(t, sched.Config{Workers: 2})
	for range 4 {
		_, err := wait(t, sched.Spawn(rt, sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
			switch {
			case cx.Runtime() != rt:
				return 0, errors.New("another runtime")
			case cx.Driver() != sched.Driver(fakes[cx.Worker()]):
				return 0, errors.New("another worker's driver")
			case cx.Now() < 0 || cx.Now() > rt.Now():
				return 0, errors.New("another time")
			}
			return 0, nil
		})))
		require.NoError(t, err)
	}
	now := rt.Now()
	require.Equal(t, now, rt.At(rt.Time(now)))
	require.WithinRange(t, rt.Time(now), time.Now().Add(-time.Hour), time.Now())
}
