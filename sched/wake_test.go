package sched_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

func TestAWakeWhileRunningRunsTheTaskOnceMore(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		var runs atomic.Int64
		running, leave := make(chan struct{}), make(chan struct{})
		task := newTask(rt, 0, func(*sched.Context) bool {
			if runs.Add(1) == 1 {
				close(running)
				<-leave
			}
			return false
		})
		task.Wake()
		receive(t, "the task runs", running)
		for range 5 {
			task.Wake()
		}
		close(leave)
		eventually(t, "the task runs again", func() bool { return runs.Load() >= 2 })
		pass(t, rt, 0)
		require.EqualValues(t, 2, runs.Load())
	})
}

func TestWakesThatComeBeforeARunAreOne(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		var runs atomic.Int64
		task := newTask(rt, 0, func(*sched.Context) bool { runs.Add(1); return false })
		release := occupy(t, rt, 0)
		for range 5 {
			task.Wake()
		}
		release()
		pass(t, rt, 0)
		require.EqualValues(t, 1, runs.Load())
		task.Wake()
		pass(t, rt, 0)
		require.EqualValues(t, 2, runs.Load())
	})
}

func TestTasksRunInTheOrderOfTheirWakes(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		var order []int // only worker 0 uses it until pass
		release := occupy(t, rt, 0)
		for i := range 10 {
			newTask(rt, 0, func(*sched.Context) bool { order = append(order, i); return true }).Wake()
		}
		release()
		pass(t, rt, 0)
		require.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, order)
	})
}

func TestAWakeAfterTheEndDoesNothing(t *testing.T) {
	rt, fakes := startFakes(t, sched.Config{Workers: 1, Hold: -1})
	var runs atomic.Int64
	var late sched.Waker
	task := newTask(rt, 0, func(cx *sched.Context) bool {
		late = cx.Waker()
		cx.Waker().Wake() // arrives while the task runs; the task is done then
		return runs.Add(1) > 0
	})
	task.Wake()
	pass(t, rt, 0)
	d := fakes[0]
	eventually(t, "the worker blocks", func() bool { return d.waitsIn(blocking) })
	wakes := d.count(&d.wakes)
	task.Wake()
	late.Wake()
	require.Equal(t, wakes, d.count(&d.wakes), "wakes of the driver")
	pass(t, rt, 0)
	require.EqualValues(t, 1, runs.Load())
}

func TestTheZeroWakerWakesNothing(*testing.T) {
	sched.Waker{}.Wake()
}

func TestAHomeIsTakenModuloTheWorkers(t *testing.T) {
	rt := start(t, sched.Config{Workers: 3})
	for _, home := range []int{0, 2, 3, 7, -1, -1 << 31} {
		at := make(chan int, 1)
		newTask(rt, home, func(cx *sched.Context) bool { at <- cx.Worker(); return true }).Wake()
		got := receive(t, "a task runs", at)
		if home >= 0 {
			require.Equal(t, home%3, got)
		}
	}
}

func TestATaskRunsOnItsHomeWhoeverWakesIt(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		ran := make(chan int, rt.Workers())
		for home := range rt.Workers() {
			task := newTask(rt, home, func(cx *sched.Context) bool { ran <- cx.Worker(); return true })
			newTask(rt, home+1, func(cx *sched.Context) bool { cx.Wake(task.Waker()); return true }).Wake()
			require.Equal(t, home, receive(t, "a task runs", ran))
		}
	})
}

func TestWakingARunningWorkerDoesNotWakeItsDriver(t *testing.T) {
	rt, fakes := startFakes(t, sched.Config{Workers: 2})
	d := fakes[1]
	release := occupy(t, rt, 1)
	before := d.count(&d.wakes)
	var ran atomic.Int64
	for range 100 {
		newTask(rt, 1, func(*sched.Context) bool { ran.Add(1); return true }).Wake()
	}
	require.Equal(t, before, d.count(&d.wakes))
	release()
	eventually(t, "the tasks run", func() bool { return ran.Load() == 100 })
}

func TestWakingAParkedWorkerWakesItsDriverOnce(t *testing.T) {
	for _, p := range []phase{holding, blocking} {
		t.Run(string(p), func(t *testing.T) {
			d := newFake()
			d.endless = true
			cfg := sched.Config{}
			if p == blocking {
				cfg.Hold = -1
			}
			rt := startOn(t, cfg, []*fake{d})
			eventually(t, "the worker parks", func() bool {
				if p == holding && d.waitsIn(blocking) { // a goroutine waited for a processor
					newTask(rt, 0, func(*sched.Context) bool { return true }).Wake()
				}
				return d.waitsIn(p)
			})

			// The worker is kept in its wait, so that it stays parked for all of the wake-ups.
			inside, leave := make(chan struct{}), make(chan struct{})
			d.events <- func(*sched.Context) (int, error) { close(inside); <-leave; return 0, nil }
			receive(t, "the driver has an event", inside)
			var ran atomic.Int64
			before := d.count(&d.wakes)
			var wakers sync.WaitGroup
			for range 20 {
				wakers.Go(newTask(rt, 0, func(*sched.Context) bool { ran.Add(1); return true }).Wake)
			}
			wakers.Wait()
			require.Equal(t, before+1, d.count(&d.wakes))
			close(leave)
			eventually(t, "the tasks run", func() bool { return ran.Load() == 20 })
		})
	}
}

func TestALocalWakeFromTheDriverIsQueuedWithoutAWake(t *testing.T) {
	rt, fakes := startFakes(t, sched.Config{Workers: 1})
	d := fakes[0]
	ran := make(chan struct{})
	task := newTask(rt, 0, func(*sched.Context) bool { close(ran); return true })
	d.events <- func(cx *sched.Context) (int, error) { cx.Wake(task.Waker()); return 1, nil }
	receive(t, "the task runs", ran)
	require.Zero(t, d.count(&d.wakes))
}

func TestSelfWakingTasksDoNotStarveTheDriver(t *testing.T) {
	const perTick = 128
	for _, tasks := range []int{1, 3, 500} {
		d := newFake()
		var ran, most int // only the worker uses these until stop is seen
		d.onPoll = func(*sched.Context) { most = max(most, ran); ran = 0 }
		var left atomic.Int64
		var stop atomic.Bool
		rt := startOn(t, sched.Config{}, []*fake{d})
		for range tasks {
			left.Add(1)
			newTask(rt, 0, func(cx *sched.Context) bool {
				ran++
				if stop.Load() {
					left.Add(-1)
					return true
				}
				cx.Waker().Wake()
				return false
			}).Wake()
		}
		happened := make(chan struct{})
		for i := range 3 {
			d.events <- func(*sched.Context) (int, error) {
				if i == 2 {
					close(happened)
				}
				return 1, nil
			}
		}
		receive(t, "the driver is polled", happened)
		pass(t, rt, 0) // the inbox does not, either
		stop.Store(true)
		eventually(t, "the tasks end", func() bool { return left.Load() == 0 })
		pass(t, rt, 0)
		require.NoError(t, shut(t, rt))
		require.LessOrEqual(t, most, perTick)
	}
}
