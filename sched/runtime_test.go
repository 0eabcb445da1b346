package sched_test

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

func TestStartReturnsADriversErrorAndClosesTheOthers(t *testing.T) {
	for _, workers := range []int{1, 2, 4} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			broken := errors.New("no such device")
			fakes := make([]*fake, workers)
			rt := sched.New(sched.Config{Workers: workers, NewDriver: func(worker int) (sched.Driver, error) {
				if worker == workers-1 {
					return nil, broken
				}
				fakes[worker] = newFake()
				return fakes[worker], nil
			}})
			require.ErrorIs(t, rt.Start(), broken)
			require.ErrorIs(t, rt.Start(), broken, "again")
			_, err := wait(t, sched.Spawn(rt, ready(1, nil)))
			require.ErrorIs(t, err, broken)
			receive(t, "the workers end", rt.Done())
			for _, d := range fakes[:workers-1] {
				require.Equal(t, 1, d.closes)
				require.Zero(t, d.polls)
			}
			require.NoError(t, shut(t, rt))
			require.ErrorIs(t, rt.Start(), broken, "after Close")
			newTask(rt, 0, func(*sched.Context) bool { t.Error("ran"); return true }).Wake()
		})
	}
}

func TestCloseBeforeStart(t *testing.T) {
	rt := sched.New(sched.Config{Workers: 2, NewDriver: func(int) (sched.Driver, error) {
		t.Error("a driver was made")
		return newFake(), nil
	}})
	require.NoError(t, shut(t, rt))
	require.NoError(t, shut(t, rt), "again")
	require.ErrorIs(t, rt.Start(), sched.ErrClosed)
	_, err := wait(t, sched.Spawn(rt, ready(1, nil)))
	require.ErrorIs(t, err, sched.ErrClosed)
	receive(t, "Done", rt.Done())
}

func TestCloseTwiceAndAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		var closers sync.WaitGroup
		for range 4 {
			closers.Go(func() {
				if err := rt.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		awaitAll(t, &closers)
		require.NoError(t, shut(t, rt))
		require.ErrorIs(t, rt.Start(), sched.ErrClosed)
	})
}

func TestStartAndCloseAtOnce(t *testing.T) {
	for range 50 {
		rt := sched.New(sched.Config{Workers: 2})
		var both sync.WaitGroup
		both.Go(func() {
			if err := rt.Start(); err != nil && !errors.Is(err, sched.ErrClosed) {
				t.Error(err)
			}
		})
		both.Go(func() {
			if err := rt.Close(); err != nil {
				t.Error(err)
			}
		})
		awaitAll(t, &both)
		receive(t, "the workers end", rt.Done())
	}
}

func TestCloseWhileTasksWakeThemselvesAndEachOther(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		var runs atomic.Int64
		tasks := make([]sched.Task, 8)
		for i := range tasks {
			tasks[i].Init(rt, body(func(cx *sched.Context) bool {
				runs.Add(1)
				cx.Wake(tasks[(i+1)%len(tasks)].Waker())
				cx.Waker().Wake()
				return false
			}))
		}
		tasks[0].Wake()
		eventually(t, "the tasks run", func() bool { return runs.Load() > 1000 })
		var wakers sync.WaitGroup
		wakers.Go(func() { // and goroutines that have not seen the close
			for i := range 1000 {
				tasks[i%len(tasks)].Wake()
			}
		})
		require.NoError(t, shut(t, rt))
		after := runs.Load()
		awaitAll(t, &wakers)
		tasks[1].Wake()
		require.Equal(t, after, runs.Load())
	})
}

func TestADriversErrorStopsTheRuntime(t *testing.T) {
	for _, workers := range []int{1, 2, 4} {
		for _, p := range []phase{holding, blocking, polling} {
			t.Run(fmt.Sprintf("%s/%d", p, workers), func(t *testing.T) {
				cfg := sched.Config{Workers: workers}
				if p == blocking {
					cfg.Hold = -1
				}
				rt, fakes := startFakes(t, cfg)
				h := sched.Spawn(rt, new(gate))
				if p == polling {
					newTask(rt, workers-1, func(cx *sched.Context) bool { cx.Waker().Wake(); return false }).Wake()
				}
				broken := errors.New("device gone")
				fakes[workers-1].events <- func(*sched.Context) (int, error) { return 0, broken }
				receive(t, "the runtime ends", rt.Done())
				_, err := wait(t, h)
				require.ErrorIs(t, err, sched.ErrClosed)
				require.ErrorIs(t, rt.Start(), sched.ErrClosed)
				require.ErrorIs(t, shut(t, rt), broken)
				require.ErrorIs(t, shut(t, rt), broken, "again")
			})
		}
	}
}

func TestTheFirstOfSeveralErrorsStays(t *testing.T) {
	rt, fakes := startFakes(t, sched.Config{Workers: 4})
	broken := errors.New("device gone")
	for _, d := range fakes {
		d.events <- func(*sched.Context) (int, error) { return 0, broken }
	}
	receive(t, "the runtime ends", rt.Done())
	require.ErrorIs(t, shut(t, rt), broken)
}

func TestSeveralRuntimesAreApart(t *testing.T) {
	var all []*sched.Runtime
	for i := range 4 {
		all = append(all, start(t, sched.Config{Workers: i%2 + 1}))
	}
	g := new(gate)
	inner := sched.Spawn(all[0], g)
	outer := sched.Spawn[string](all[1], inner) // a task that awaits a task of another runtime
	require.NoError(t, shut(t, all[2]))
	g.Open("across")
	v, err := wait(t, outer)
	require.NoError(t, err)
	require.Equal(t, "across", v)
	_, err = wait(t, sched.Spawn(all[3], ready(1, nil)))
	require.NoError(t, err)
}

func TestTheDefaultNumberOfWorkersIsGOMAXPROCS(t *testing.T) {
	require.Equal(t, runtime.GOMAXPROCS(0), sched.New(sched.Config{}).Workers())
	require.Equal(t, 3, sched.New(sched.Config{Workers: 3}).Workers())
}

func TestATaskWokenBeforeStartRunsAfter(t *testing.T) {
	rt := sched.New(sched.Config{Workers: 2})
	ran := make(chan struct{})
	newTask(rt, 1, func(*sched.Context) bool { close(ran); return true }).Wake()
	require.NoError(t, rt.Start())
	receive(t, "the task runs", ran)
	require.NoError(t, shut(t, rt))
}
