package sched_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/inline"
	"github.com/suiro-go/suiro/sched"
)

// asked runs a function in the driver's Poll, and returns its result.
func asked[T any](t *testing.T, d *fake, do func(cx *sched.Context) T) T {
	t.Helper()
	said := make(chan T, 1)
	d.events <- func(cx *sched.Context) (int, error) {
		said <- do(cx)
		return 1, nil
	}
	return receive(t, "the driver does it", said)
}

// entered returns a waiting task that may be entered, and the number of its runs.
func entered(t *testing.T, rt *sched.Runtime, prepare func(*sched.Task)) (*sched.Task, *atomic.Int32) {
	t.Helper()
	var task *sched.Task
	var runs atomic.Int32
	task = newTask(rt, 0, func(*sched.Context) bool {
		if runs.Add(1) == 1 {
			inline.Allow(task)
			prepare(task)
		}
		return false
	})
	task.Wake()
	eventually(t, "it waits", func() bool { return runs.Load() == 1 && rt.Stats().Parked == rt.Workers() })
	return task, &runs
}

func TestADriverEntersATaskThatWaits(t *testing.T) {
	rt, fakes := startFakes(t, sched.Config{Workers: 1})
	task, runs := entered(t, rt, func(*sched.Task) {})
	could := asked(t, fakes[0], func(cx *sched.Context) (could [3]bool) {
		could[0] = inline.Enter(cx, task)
		could[1] = inline.Enter(cx, task) // the task runs
		inline.Leave(cx, task)
		could[2] = inline.Enter(cx, task)
		inline.Leave(cx, task)
		return could
	})
	require.Equal(t, [3]bool{true, false, true}, could)
	eventually(t, "the worker waits again", func() bool { return rt.Stats().Parked == 1 })
	require.EqualValues(t, 1, runs.Load(), "to enter a task does not wake it")
}

func TestATaskThatIsWokenWhileItIsEnteredRunsAfterwards(t *testing.T) {
	rt, fakes := startFakes(t, sched.Config{Workers: 1})
	task, runs := entered(t, rt, func(*sched.Task) {})
	could := asked(t, fakes[0], func(cx *sched.Context) (could [2]bool) {
		could[0] = inline.Enter(cx, task)
		task.Wake()
		cx.Wake(task.Waker())
		inline.Leave(cx, task)
		could[1] = inline.Enter(cx, task) // the task is scheduled
		return could
	})
	require.Equal(t, [2]bool{true, false}, could)
	eventually(t, "it has run", func() bool { return runs.Load() == 2 })
}

func TestOnlyATaskThatMayBeIsEntered(t *testing.T) {
	rt, fakes := startFakes(t, sched.Config{Workers: 2})
	var runs atomic.Int32
	closed := newTask(rt, 0, func(*sched.Context) bool { runs.Add(1); return false })
	closed.Wake()
	eventually(t, "it waits", func() bool { return runs.Load() == 1 && rt.Stats().Parked == 2 })
	elsewhere, ran := entered(t, rt, func(task *sched.Task) { task.Pin(1) })
	require.False(t, asked(t, fakes[0], func(cx *sched.Context) bool { return inline.Enter(cx, closed) }))
	require.False(t, asked(t, fakes[0], func(cx *sched.Context) bool { return inline.Enter(cx, elsewhere) }), "it is pinned to the other worker")
	require.True(t, asked(t, fakes[1], func(cx *sched.Context) bool {
		entered := inline.Enter(cx, elsewhere)
		if entered {
			inline.Leave(cx, elsewhere)
		}
		return entered
	}))
	elsewhere.Wake()
	eventually(t, "it runs", func() bool { return ran.Load() == 2 })
}

func TestHooksOfRunsSeeAllOfThem(t *testing.T) {
	rt, fakes := startFakes(t, sched.Config{Workers: 1, Hooks: sched.Hooks{TaskPollStart: func(int, sched.TaskID) {}}})
	task, _ := entered(t, rt, func(*sched.Task) {})
	require.False(t, asked(t, fakes[0], func(cx *sched.Context) bool { return inline.Enter(cx, task) }))
}

func TestADriverIsToldTheTimeOfItsPoll(t *testing.T) {
	rt, fakes := startFakes(t, sched.Config{Workers: 1})
	for range 3 {
		eventually(t, "the worker waits", func() bool { return rt.Stats().Parked == 1 })
		before := rt.Now() + time.Millisecond
		for rt.Now() < before {
			time.Sleep(time.Millisecond)
		}
		require.GreaterOrEqual(t, asked(t, fakes[0], (*sched.Context).Now), before, "the wait has not counted")
	}
}

// A worker that polls in its wait has announced that it is idle. It does not count itself as
// another idle worker.
func TestAWorkerThatWaitsKeepsWhatNobodyElseCouldTake(t *testing.T) {
	rt, fakes := startFakes(t, sched.Config{Workers: 2})
	eventually(t, "both wait", func() bool { return rt.Stats().Parked == 2 })
	began, release := make(chan struct{}), make(chan struct{})
	busy := newTask(rt, 1, func(*sched.Context) bool { close(began); <-release; return true })
	busy.WakeOn(1)
	<-began
	defer close(release)
	require.True(t, asked(t, fakes[0], func(cx *sched.Context) bool { return inline.Alone(cx, 1000) }), "the only other worker runs a task")
}
