package sched_test

import (
	"io"
	"log/slog"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// exiting is a result whose Release exits its goroutine, as FailNow of a test does.
type exiting struct{}

func (exiting) Release() { runtime.Goexit() }

// A failure after a task's end does not belong to the task. The task must not end twice, or two
// tasks would use its memory.
func TestWhatGoesWrongAfterATasksEndDoesNotEndItTwice(t *testing.T) {
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	for name, c := range map[string]struct {
		hooks sched.Hooks
		spawn func(rt *sched.Runtime)
	}{
		"a release exits": {spawn: func(rt *sched.Runtime) {
			detached := new(gate) // so that the worker releases the result, and not Detach
			sched.Spawn(rt, sched.FutureFunc[exiting](func(cx *sched.Context) (exiting, error) {
				_, err := detached.Poll(cx)
				return exiting{}, err
			})).Detach()
			detached.Open("")
		}},
		"a hook panics": {
			hooks: sched.Hooks{TaskEnd: func(_ sched.TaskID, err error) {
				if err == io.ErrNoProgress {
					panic("in a hook")
				}
			}},
			spawn: func(rt *sched.Runtime) { sched.Spawn(rt, ready(0, io.ErrNoProgress)).Detach() },
		},
	} {
		t.Run(name, func(t *testing.T) {
			rt := start(t, sched.Config{Workers: 1, Hooks: c.hooks, Logger: quiet})
			for range 10 {
				c.spawn(rt)
				pass(t, rt, 0)
				pass(t, rt, 0)
			}
			var handles []*sched.JoinHandle[int]
			gates := make([]gate, 200)
			for i := range gates { // if one cell were free twice, two of these would share it
				handles = append(handles, sched.Spawn(rt, sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
					if _, err := gates[i].Poll(cx); err != nil {
						return 0, err
					}
					return i, nil
				})))
			}
			for i := range gates {
				eventually(t, "a task waits", func() bool { return gates[i].polls.Load() > 0 })
				gates[i].Open("")
			}
			for i, h := range handles {
				v, err := wait(t, h)
				require.NoError(t, err)
				require.Equal(t, i, v)
			}
		})
	}
}

// Close of a set aborts all tasks, and releases all results, though a Release exits its goroutine.
func TestCloseOfASetWhoseReleaseExits(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	var set sched.JoinSet[counting]
	var released atomic.Int32
	var waiting []sched.AbortHandle
	for range 3 {
		done := set.Spawn(rt, ready(counting{&released}, nil))
		waiting = append(waiting, set.Spawn(rt, sched.FutureFunc[counting](func(*sched.Context) (counting, error) {
			return counting{}, sched.ErrPending
		})))
		eventually(t, "a task is done", done.Done)
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		set.Close()
	}()
	receive(t, "the set is closed", closed)
	require.EqualValues(t, 3, released.Load())
	for _, h := range waiting {
		eventually(t, "a task was aborted", h.Done)
	}
}

// A counting is an exiting that counts its releases.
type counting struct{ released *atomic.Int32 }

func (c counting) Release() {
	c.released.Add(1)
	runtime.Goexit()
}
