package sched_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// slowTask is the least slow run on the paused clocks of these tests.
const slowTask = 10 * time.Millisecond

// A slowLog records the calls of the hook.
type slowLog struct {
	mu  sync.Mutex
	all []sched.SlowTask
}

func (l *slowLog) hook(s sched.SlowTask) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, s)
}

func (l *slowLog) take() []sched.SlowTask {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.all
	l.all = nil
	return all
}

// pausedSlow is a runtime on a paused clock that reports slow tasks.
func pausedSlow(t *testing.T, cfg sched.Config) (*sched.Runtime, *slowLog) {
	l := new(slowLog)
	cfg.Paused, cfg.SlowTask, cfg.Hooks.SlowTask = true, slowTask, l.hook
	return start(t, cfg), l
}

// blocked starts a task that blocks its worker until release is called.
func blocked(t *testing.T, rt *sched.Runtime, home int) (release func()) {
	end := occupy(t, rt, home)
	return func() {
		end()
		atRest(t, rt) // otherwise the end of the run could last while the clock moves
	}
}

func TestASlowTaskIsReportedWhileItRuns(t *testing.T) {
	for _, workers := range []int{1, 2, 4} {
		rt, l := pausedSlow(t, sched.Config{Workers: workers})
		release := blocked(t, rt, workers-1)
		rt.Advance(slowTask - 1)
		require.Empty(t, l.take())
		rt.Advance(1)
		all := l.take()
		require.Len(t, all, 1)
		require.Equal(t, workers-1, all[0].Worker)
		require.Equal(t, slowTask, all[0].For)
		require.Equal(t, "sched_test.body", all[0].Handler)
		require.Empty(t, all[0].Peer)
		require.Contains(t, all[0].Stack, "sched_test.occupy.func1")
		rt.Advance(time.Hour)
		require.Empty(t, l.take(), "once for each run")
		require.Zero(t, rt.Stats().Total.SlowPolls, "it still runs")
		release()
		s := atEnd(t, rt).Total
		require.EqualValues(t, 1, s.SlowPolls)
		require.Equal(t, slowTask+time.Hour, s.MaxPoll)
		require.EqualValues(t, 1, s.SlowPollTimes[sched.SlowPollRanges-1])
	}
}

func TestEverySlowRunIsCountedAndNoOther(t *testing.T) {
	for _, workers := range []int{1, 2, 4} {
		rt, l := pausedSlow(t, sched.Config{Workers: workers})
		home := 0
		run := func(d time.Duration) {
			home++
			release := blocked(t, rt, home)
			rt.Advance(d)
			release()
		}
		for range 12 {
			run(200 * time.Millisecond)
			run(slowTask - 1)
		}
		run(3 * slowTask)
		run(1234 * time.Millisecond)
		require.Len(t, l.take(), 14)
		s := atEnd(t, rt).Total
		require.EqualValues(t, 14, s.SlowPolls)
		require.Equal(t, 1234*time.Millisecond, s.MaxPoll)
		want := [sched.SlowPollRanges]uint64{1: 1, 4: 12, 6: 1}
		require.Equal(t, want, s.SlowPollTimes)
	}
}

// The runs of one tick are measured separately: the slow one is neither the first nor the last.
func TestOfTheRunsInATickTheSlowOneIsCounted(t *testing.T) {
	rt, l := pausedSlow(t, sched.Config{Workers: 1})
	atRest(t, rt)
	release := occupy(t, rt, 0)
	busy, leave := make(chan bool), make(chan bool)
	for i := range 40 {
		newTask(rt, 0, func(*sched.Context) bool {
			if i == 20 || i == 30 {
				busy <- true
				<-leave
			}
			return true
		}).Wake()
	}
	release()
	for _, d := range []time.Duration{slowTask, slowTask - time.Millisecond} {
		<-busy
		rt.Advance(d)
		leave <- true
	}
	atRest(t, rt)
	require.Len(t, l.take(), 1)
	s := atEnd(t, rt).Total
	require.EqualValues(t, 1, s.SlowPolls)
	require.Equal(t, slowTask, s.MaxPoll)
}

func TestASlowRunThatPanicsIsCounted(t *testing.T) {
	rt, _ := pausedSlow(t, sched.Config{Workers: 1})
	h := sched.Spawn(rt, sched.FutureFunc[int](func(*sched.Context) (int, error) {
		rt.Advance(slowTask)
		panic("oh")
	}))
	_, err := wait(t, h)
	require.Error(t, err)
	require.EqualValues(t, 1, atEnd(t, rt).Total.SlowPolls)
}

// After the inner call, the outer function is still in BlockInPlace, and its time counts once.
func TestABlockInPlaceWithinAnotherEndsNeither(t *testing.T) {
	rt, l := pausedSlow(t, sched.Config{Workers: 1})
	_, err := wait(t, sched.Go(rt, func(cx *sched.Context) (int, error) {
		cx.BlockInPlace(func() {
			cx.BlockInPlace(func() { rt.Advance(slowTask) })
			rt.Advance(2 * slowTask)
		})
		rt.Advance(slowTask)
		return 0, nil
	}))
	require.NoError(t, err)
	require.LessOrEqual(t, len(l.take()), 1, "only the part after the call")
	s := atEnd(t, rt).Total
	require.EqualValues(t, 1, s.SlowPolls)
	require.Equal(t, slowTask, s.MaxPoll)
}

func TestTimeInBlockInPlaceDoesNotCount(t *testing.T) {
	for _, workers := range []int{1, 2} {
		rt, l := pausedSlow(t, sched.Config{Workers: workers})
		run := func(before, within, after time.Duration) {
			_, err := wait(t, sched.Go(rt, func(cx *sched.Context) (int, error) {
				rt.Advance(before)
				cx.BlockInPlace(func() { rt.Advance(within) })
				rt.Advance(after)
				return 0, nil
			}))
			require.NoError(t, err)
		}
		run(slowTask-2, time.Hour, 1)
		require.Empty(t, l.take())
		require.Zero(t, rt.Stats().Total.SlowPolls)
		run(slowTask-1, time.Hour, 1)
		s := atEnd(t, rt).Total
		require.EqualValues(t, 1, s.SlowPolls)
		require.Equal(t, slowTask, s.MaxPoll)
	}
}

func TestTasksThatWaitAreNotSlow(t *testing.T) {
	rt, l := pausedSlow(t, sched.Config{Workers: 2})
	for range 10 {
		_, err := wait(t, sched.Go(rt, func(cx *sched.Context) (int, error) {
			_, err := sched.Await(cx, sched.Sleep(time.Hour))
			return 0, err
		}))
		require.NoError(t, err)
	}
	require.Empty(t, l.take())
	require.Zero(t, atEnd(t, rt).Total.SlowPolls)
}

// A futureThatIsSlow is a future with a method that blocks.
type futureThatIsSlow struct{ busy, leave chan bool }

func (f *futureThatIsSlow) Poll(*sched.Context) (int, error) {
	f.busy <- true
	<-f.leave
	return 0, nil
}

// slowFunction is called directly, so that its name stays the same.
func (f *futureThatIsSlow) slowFunction(*sched.Context) (int, error) { return f.Poll(nil) }

func TestWhatRunsIsNamed(t *testing.T) {
	slow := &futureThatIsSlow{make(chan bool), make(chan bool)}
	for name, spawn := range map[string]func(*sched.Runtime) *sched.JoinHandle[int]{
		"(*futureThatIsSlow).Poll": func(rt *sched.Runtime) *sched.JoinHandle[int] {
			return sched.Spawn(rt, slow)
		},
		"(*futureThatIsSlow).slowFunction": func(rt *sched.Runtime) *sched.JoinHandle[int] {
			return sched.Go(rt, slow.slowFunction)
		},
	} {
		rt, l := pausedSlow(t, sched.Config{Workers: 2})
		others := new(gate)
		for range 5 { // other tasks have coroutines, which wait
			sched.Go(rt, func(cx *sched.Context) (string, error) { return sched.Await(cx, others) }).Detach()
		}
		eventually(t, "they wait", func() bool { return others.polls.Load() == 5 })
		atRest(t, rt)
		h := spawn(rt)
		<-slow.busy
		rt.Advance(slowTask)
		all := l.take()
		require.Len(t, all, 1)
		require.Equal(t, "github.com/suiro-go/suiro/sched_test."+name, all[0].Handler)
		require.Contains(t, all[0].Stack, name)
		require.Equal(t, 1, strings.Count(all[0].Stack, "goroutine ")-strings.Count(all[0].Stack, " in goroutine "))
		slow.leave <- true
		_, err := wait(t, h)
		require.NoError(t, err)
	}
}

func TestSlowTasksAreLoggedOnceASecond(t *testing.T) {
	var out bytes.Buffer // only Advance writes to it
	rt, l := pausedSlow(t, sched.Config{Workers: 1, Logger: slog.New(slog.NewTextHandler(&out, nil))})
	for i := range 3 {
		for range 4 {
			release := blocked(t, rt, 0)
			rt.Advance(slowTask)
			release()
		}
		require.Equal(t, i+1, strings.Count(out.String(), "occupies its worker"), out.String())
		all := l.take()
		require.Len(t, all, 4)
		for k, s := range all {
			require.Equal(t, k == 0, s.Stack != "", "a stack for each that is logged")
		}
		rt.Advance(time.Second - 4*slowTask - 1)
		release := blocked(t, rt, 0)
		rt.Advance(1)
		release()
		require.Empty(t, l.take())
	}
	require.Contains(t, out.String(), "handler=sched_test.body")
	require.Equal(t, 2, strings.Count(out.String(), "not_logged=3"))
}

func TestSlowTasksAreNotWatchedForIfThatIsOff(t *testing.T) {
	for name, cfg := range map[string]sched.Config{
		"off": {Paused: true, SlowTask: -1}, "a paused clock": {Paused: true},
	} {
		l := new(slowLog)
		cfg.Workers, cfg.Hooks.SlowTask = 1, l.hook
		rt := start(t, cfg)
		release := blocked(t, rt, 0)
		rt.Advance(time.Hour)
		release()
		require.Empty(t, l.take(), name)
		require.Zero(t, atEnd(t, rt).Total.SlowPolls, name)
	}
}

func TestAHookThatPanicsLeavesTheWatchAsItIs(t *testing.T) {
	var out bytes.Buffer
	calls := 0
	rt := start(t, sched.Config{Workers: 1, Paused: true, SlowTask: slowTask, Logger: slog.New(slog.NewTextHandler(&out, nil)),
		Hooks: sched.Hooks{SlowTask: func(sched.SlowTask) { calls++; panic("oh") }}})
	for range 2 {
		release := blocked(t, rt, 0)
		rt.Advance(slowTask)
		release()
	}
	require.Equal(t, 2, calls)
	require.Contains(t, out.String(), "a hook panicked")
}

// With a real clock: each task blocks until the hook has reported it.
func TestTheWatchNoticesSlowTasks(t *testing.T) {
	test := func(t *testing.T, cfg sched.Config, start func(sched.Config) *sched.Runtime) {
		var reports atomic.Int64
		told := make(chan sched.SlowTask, 1)
		cfg.SlowTask = time.Millisecond
		cfg.Hooks.SlowTask = func(s sched.SlowTask) { // other tasks may also be slow: the machine is shared
			if s.Handler == "sched_test.body" {
				reports.Add(1)
				told <- s
			}
		}
		rt := start(cfg)
		const n = 12
		for i := range n {
			done := make(chan sched.SlowTask)
			newTask(rt, i, func(*sched.Context) bool { done <- <-told; return true }).Wake()
			s := receive(t, "a task is reported while it runs", done)
			require.Equal(t, i%rt.Workers(), s.Worker)
			require.GreaterOrEqual(t, s.For, time.Millisecond)
		}
		require.EqualValues(t, n, reports.Load())
		s := atEnd(t, rt).Total
		require.GreaterOrEqual(t, s.SlowPolls, uint64(n))
		require.GreaterOrEqual(t, s.MaxPoll, time.Millisecond)
		require.GreaterOrEqual(t, s.Completed, uint64(n))
	}
	for _, workers := range []int{1, 2, 4} {
		t.Run(fmt.Sprint("sleeper/", workers), func(t *testing.T) {
			test(t, sched.Config{Workers: workers}, func(cfg sched.Config) *sched.Runtime { return start(t, cfg) })
		})
		t.Run(fmt.Sprint("driver/", workers), func(t *testing.T) {
			test(t, sched.Config{Workers: workers}, func(cfg sched.Config) *sched.Runtime {
				rt, _ := startFakes(t, cfg)
				return rt
			})
		})
	}
}

// The goroutine of the looks rests while nothing runs, and notices the first slow task after that.
func TestTheWatchRestsWhileAllWorkersAreParked(t *testing.T) {
	told := make(chan sched.SlowTask)
	rt := start(t, sched.Config{Workers: 2, SlowTask: time.Millisecond, Hooks: sched.Hooks{SlowTask: func(s sched.SlowTask) { told <- s }}})
	for range 5 {
		eventually(t, "the watch rests", rt.AllRest)
		done := make(chan sched.SlowTask)
		freeTask(rt, func(*sched.Context) bool { done <- <-told; return true }).Wake()
		receive(t, "the task is reported", done)
	}
}

func TestCompletedTasksAreCounted(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		for range 20 {
			_, err := wait(t, sched.Go(rt, func(cx *sched.Context) (int, error) {
				_, err := sched.Await(cx, sched.Yield())
				return 0, err
			}))
			require.NoError(t, err)
		}
		require.EqualValues(t, 20, atEnd(t, rt).Total.Completed)
	})
}

func TestTheTotalOfSlowPolls(t *testing.T) {
	rt, _ := pausedSlow(t, sched.Config{Workers: 2})
	for home, d := range []time.Duration{2 * slowTask, slowTask} {
		release := blocked(t, rt, home)
		rt.Advance(d)
		release()
	}
	s := atEnd(t, rt)
	require.Equal(t, 2*slowTask, s.Workers[0].MaxPoll)
	require.Equal(t, slowTask, s.Workers[1].MaxPoll)
	require.Equal(t, 2*slowTask, s.Total.MaxPoll)
	require.Equal(t, [sched.SlowPollRanges]uint64{1, 1}, s.Total.SlowPollTimes)
}
