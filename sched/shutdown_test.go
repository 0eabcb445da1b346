package sched_test

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// shutdown is rt.Shutdown, and fails the test if it does not return in time.
func shutdown(ctx context.Context, t *testing.T, rt *sched.Runtime) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- rt.Shutdown(ctx) }()
	return receive(t, "Shutdown returns", done)
}

func expired(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func TestIdleTasksAreDroppedOnceWhenTheRuntimeEnds(t *testing.T) {
	n := rounds(10_000)
	for name, end := range map[string]func(rt *sched.Runtime) error{
		"Close": (*sched.Runtime).Close,
		"Shutdown": func(rt *sched.Runtime) error {
			if err := rt.Shutdown(expired(t)); err == nil {
				return fmt.Errorf("Shutdown of a runtime with tasks: no error")
			}
			return nil
		},
	} {
		for _, workers := range []int{1, 4} {
			t.Run(fmt.Sprintf("%s/%d", name, workers), func(t *testing.T) {
				rt := start(t, sched.Config{Workers: workers})
				futures := make([]dropped, n)
				handles := make([]*sched.JoinHandle[int], n)
				var stackful []*sched.JoinHandle[string]
				var unwound, waiting atomic.Int64
				for i := range n {
					handles[i] = sched.Spawn[int](rt, &futures[i])
				}
				for range n / 10 {
					stackful = append(stackful, sched.Go(rt, func(cx *sched.Context) (string, error) {
						defer unwound.Add(1)
						waiting.Add(1)
						v, err := sched.Await[string](cx, new(gate))
						return v, err
					}))
				}
				eventually(t, "all wait", func() bool { return waiting.Load() == int64(n/10) && rt.Stats().Parked == workers })
				ended := make(chan error, 1)
				go func() { ended <- end(rt) }()
				require.NoError(t, receive(t, "the runtime ends", ended))
				for i := range n {
					_, err := wait(t, handles[i])
					require.ErrorIs(t, err, sched.ErrClosed)
					require.EqualValues(t, 1, futures[i].polls.Load())
					require.EqualValues(t, 1, futures[i].cancels.Load())
				}
				for _, h := range stackful {
					_, err := wait(t, h)
					require.ErrorIs(t, err, sched.ErrCanceled)
				}
				require.EqualValues(t, n/10, unwound.Load())
			})
		}
	}
}

// The task ends after Shutdown has returned, and not before.
func TestShutdownDoesNotWaitForATaskThatWillNotEnd(t *testing.T) {
	for _, workers := range []int{1, 2, 4} {
		for stuck := range workers {
			t.Run(fmt.Sprintf("%d of %d", stuck, workers), func(t *testing.T) {
				rt := start(t, sched.Config{Workers: workers})
				release := occupy(t, rt, stuck)
				handles := []*sched.JoinHandle[int]{sched.Spawn[int](rt, new(dropped)), sched.Spawn[int](rt, new(dropped)), sched.Spawn[int](rt, new(dropped))}
				eventually(t, "the other workers park", func() bool { return rt.Stats().Parked == workers-1 }) // else one may be within a tick
				err := shutdown(expired(t), t, rt)
				require.ErrorIs(t, err, context.Canceled)
				require.ErrorContains(t, err, "3 tasks")
				require.ErrorContains(t, err, fmt.Sprintf("worker %d", stuck))
				for other := range workers {
					if other != stuck {
						require.NotContains(t, err.Error(), fmt.Sprintf("worker %d", other))
					}
				}
				select {
				case <-rt.Done():
					t.Fatal("the workers have ended though one is in a task")
				default:
				}
				release()
				receive(t, "the workers end", rt.Done())
				for _, h := range handles {
					_, err := wait(t, h)
					require.ErrorIs(t, err, sched.ErrClosed)
				}
			})
		}
	}
}

func TestShutdownWaitsForTasksToEnd(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		gates := make([]gate, 10)
		var handles []*sched.JoinHandle[string]
		for i := range gates {
			if i%2 == 0 {
				handles = append(handles, sched.Spawn[string](rt, &gates[i]))
			} else {
				handles = append(handles, sched.Go(rt, func(cx *sched.Context) (string, error) { return sched.Await[string](cx, &gates[i]) }))
			}
		}
		ended := make(chan error, 2)
		for range 2 { // concurrently
			go func() { ended <- rt.Shutdown(t.Context()) }()
		}
		for i := range gates {
			eventually(t, "a task waits", func() bool { return gates[i].polls.Load() == 1 })
			require.Empty(t, ended)
			gates[i].Open(fmt.Sprint(i))
		}
		require.NoError(t, receive(t, "Shutdown returns", ended))
		require.NoError(t, receive(t, "Shutdown returns", ended))
		for i, h := range handles {
			v, err := wait(t, h)
			require.NoError(t, err)
			require.Equal(t, fmt.Sprint(i), v)
		}
		_, err := wait(t, sched.Spawn(rt, ready(1, nil)))
		require.ErrorIs(t, err, sched.ErrClosed)
	})
}

func TestTasksMaySpawnDuringShutdown(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		var links atomic.Int64
		const n = 500
		var link func(cx *sched.Context) (int, error)
		started, goOn := make(chan struct{}), new(gate)
		link = func(cx *sched.Context) (int, error) {
			if links.Add(1) < n {
				sched.Spawn(cx, sched.FutureFunc[int](link)).Detach()
			}
			return 0, nil
		}
		sched.Go(rt, func(cx *sched.Context) (int, error) {
			close(started)
			if _, err := sched.Await[string](cx, goOn); err != nil {
				return 0, err
			}
			return link(cx)
		}).Detach()
		receive(t, "the first task runs", started)
		ended := make(chan error, 1)
		go func() { ended <- rt.Shutdown(t.Context()) }()
		goOn.Open("")
		require.NoError(t, receive(t, "Shutdown returns", ended))
		require.EqualValues(t, n, links.Load())
	})
}

func TestShutdownOfARuntimeWithoutTasks(t *testing.T) {
	for name, started := range map[string]bool{"started": true, "never started": false} {
		t.Run(name, func(t *testing.T) {
			rt := sched.New(sched.Config{Workers: 2})
			if started {
				require.NoError(t, rt.Start())
			}
			require.NoError(t, shutdown(t.Context(), t, rt))
			require.NoError(t, shutdown(t.Context(), t, rt), "again")
			require.NoError(t, shutdown(expired(t), t, rt), "late")
			receive(t, "Done", rt.Done())
			require.ErrorIs(t, rt.Start(), sched.ErrClosed)
		})
	}
}

func TestShutdownReturnsWhatEndedAWorker(t *testing.T) {
	rt, fakes := startFakes(t, sched.Config{Workers: 2})
	h := sched.Spawn[int](rt, new(dropped))
	broken := fmt.Errorf("device gone")
	ended := make(chan error, 1)
	go func() { ended <- rt.Shutdown(t.Context()) }()
	fakes[1].events <- func(*sched.Context) (int, error) { return 0, broken }
	require.ErrorIs(t, receive(t, "Shutdown returns", ended), broken)
	_, err := wait(t, h)
	require.ErrorIs(t, err, sched.ErrClosed)
}

// Tasks are spawned while the runtime ends. Each handle returns the outcome of its task, and each
// future is done or dropped.
func TestSpawnAndCloseAtOnce(t *testing.T) {
	for i := range rounds(200) {
		rt := start(t, sched.Config{Workers: 1 + i%3}.Endless())
		var spawners sync.WaitGroup
		for range 3 {
			spawners.Go(func() {
				for {
					f := new(dropped)
					h := sched.Spawn[int](rt, f)
					g := sched.Spawn(rt, ready(1, nil))
					_, err := g.Wait(t.Context())
					if err == nil {
						h.Detach()
						continue
					}
					if _, err := h.Wait(t.Context()); err != sched.ErrClosed || f.cancels.Load() != 1 {
						t.Errorf("%v, canceled %d times", err, f.cancels.Load())
					}
					return
				}
			})
		}
		require.NoError(t, shut(t, rt))
		awaitAll(t, &spawners)
	}
}

// Callers check for context.DeadlineExceeded or context.Canceled, whatever the context's cause is.
func TestAShutdownsErrorMatchesTheContextsErrorAndItsCause(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	p := new(probe[int])
	sched.Spawn(rt, sched.Future[int](p))
	p.polled(t)
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(io.ErrNoProgress)
	err := rt.Shutdown(ctx)
	require.ErrorIs(t, err, ctx.Err())
	require.ErrorIs(t, err, io.ErrNoProgress)
}
