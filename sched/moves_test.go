package sched_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// roaming are runtimes whose stackful tasks move between workers.
var roaming = map[string]func(t *testing.T, cfg sched.Config) *sched.Runtime{
	"without a driver": func(t *testing.T, cfg sched.Config) *sched.Runtime { return start(t, cfg) },
	"on any thread": func(t *testing.T, cfg sched.Config) *sched.Runtime {
		cfg.AnyThread = true
		rt, _ := startFakes(t, cfg)
		return rt
	},
	"unlocked": func(t *testing.T, cfg sched.Config) *sched.Runtime {
		cfg.Unlocked = true
		rt, _ := startFakes(t, cfg)
		return rt
	},
}

func onRoaming(t *testing.T, test func(t *testing.T, start func(cfg sched.Config) *sched.Runtime)) {
	for name, start := range roaming {
		t.Run(name, func(t *testing.T) {
			test(t, func(cfg sched.Config) *sched.Runtime { return start(t, cfg) })
		})
	}
}

// occupyAllBut keeps all workers but one busy until release is called.
func occupyAllBut(t *testing.T, rt *sched.Runtime, worker int) (release func()) {
	t.Helper()
	var all []func()
	for i := range rt.Workers() {
		if i != worker {
			all = append(all, occupy(t, rt, i))
		}
	}
	return func() {
		for _, release := range all {
			release()
		}
	}
}

// A stackful task that has begun on a worker goes on elsewhere while another task blocks that
// worker. The last stackful task to go on releases the worker.
func TestStackfulTasksGoOnWithoutTheirWorker(t *testing.T) {
	const n = 20
	onRoaming(t, func(t *testing.T, start func(sched.Config) *sched.Runtime) {
		for _, workers := range []int{2, 4} {
			for home := range workers {
				for _, byTheStuck := range []bool{false, true} {
					rt := start(sched.Config{Workers: workers})
					begin := occupyAllBut(t, rt, home)
					gates := make([]gate, n)
					var left sync.WaitGroup
					left.Add(n)
					for i := range gates {
						sched.Go(rt, func(cx *sched.Context) (int, error) {
							defer left.Done()
							if cx.Worker() != home {
								t.Errorf("begun on worker %d", cx.Worker())
							}
							_, err := sched.Await[string](cx, &gates[i])
							if cx.Worker() == home {
								t.Error("its worker is stuck")
							}
							return 0, err
						}).Detach()
						eventually(t, "a task waits", func() bool { return gates[i].polls.Load() == 1 })
					}
					open := func() {
						for i := range gates {
							gates[i].Open("")
						}
					}
					blocks, leave := make(chan struct{}), make(chan struct{})
					var first gate
					h := sched.Go(rt, func(cx *sched.Context) (int, error) {
						if _, err := sched.Await[string](cx, &first); err != nil {
							return 0, err
						}
						if byTheStuck {
							open()
						}
						close(blocks)
						<-leave
						return cx.Worker(), nil
					})
					eventually(t, "a task waits", func() bool { return first.polls.Load() == 1 })
					first.Open("")
					receive(t, "a task blocks its worker", blocks)
					begin()
					if !byTheStuck {
						open()
					}
					awaitAll(t, &left)
					close(leave)
					at, err := wait(t, h)
					require.NoError(t, err)
					require.Equal(t, home, at)
				}
			}
		}
	})
}

// The functions of a task with its own Body move together with it.
func TestABodysCoroutinesGoOnWithoutTheirWorker(t *testing.T) {
	onRoaming(t, func(t *testing.T, start func(sched.Config) *sched.Runtime) {
		rt := start(sched.Config{Workers: 2})
		for home := range 2 {
			free := occupy(t, rt, 1-home)
			var g gate
			var at [3]int
			wait := func(i int) func(*sched.Context) error {
				return func(cx *sched.Context) error {
					_, err := sched.Await[string](cx, &g)
					at[i] = cx.Worker()
					return err
				}
			}
			h := newHost(rt, wait(0), wait(1), wait(2))
			h.task.Wake()
			eventually(t, "all wait", func() bool { return g.polls.Load() == 3 })
			release := occupy(t, rt, home)
			free()
			g.Open("")
			require.Equal(t, []error{nil, nil, nil}, receive(t, "the end", h.ended))
			require.Equal(t, [3]int{1 - home, 1 - home, 1 - home}, at)
			release()
		}
	})
}

// Where workers are locked to threads, a stackful task stays on the worker of its first run, also
// when another worker wakes it.
func TestAStackfulTaskStaysOnALockedWorker(t *testing.T) {
	for _, workers := range []int{2, 4} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			rt, _ := startFakes(t, sched.Config{Workers: workers})
			wander(t, rt, func(home, at int) {
				if home != at {
					t.Errorf("from worker %d to %d", home, at)
				}
			})
		})
	}
}

// A function reads after a wait the values that it has written before, on whichever worker. The
// race detector checks that one worker's writes happen before the other one's reads.
func TestAStackfulTaskSeesWhatItWroteOnAnotherWorker(t *testing.T) {
	onRoaming(t, func(t *testing.T, start func(sched.Config) *sched.Runtime) {
		for _, workers := range []int{1, 2, 4} {
			wander(t, start(sched.Config{Workers: workers}), func(int, int) {})
		}
	})
}

// wander runs stackful tasks that wait for other tasks. After each wait moved gets the worker of
// their first run and that of the current run.
func wander(t *testing.T, rt *sched.Runtime, moved func(home, at int)) {
	t.Helper()
	const waits = 20
	var all sync.WaitGroup
	for range rounds(100) {
		all.Add(1)
		sched.Go(rt, func(cx *sched.Context) (int, error) {
			defer all.Done()
			home, sum := cx.Worker(), 0
			for i := range waits {
				v, err := sched.Await[int](cx, sched.Go(cx, func(cx *sched.Context) (int, error) {
					_, err := sched.Await(cx, sched.Yield())
					return i, err
				}))
				if err != nil {
					return 0, err
				}
				sum += v
				moved(home, cx.Worker())
			}
			if sum != waits*(waits-1)/2 {
				t.Errorf("the sum is %d", sum)
			}
			return 0, nil
		}).Detach()
	}
	awaitAll(t, &all)
}

// One worker begins all tasks, and another one ends them. Stacks return to the worker that needs
// them, and no more stay unused than otherwise.
func TestStacksOfTasksThatMoveAreUsedAgain(t *testing.T) {
	const most, each, times = 6, 3, 20
	eventually(t, "the stacks of earlier tests end", func() bool { return coroutineStacks() == 0 })
	onRoaming(t, func(t *testing.T, start func(sched.Config) *sched.Runtime) {
		rt := start(sched.Config{Workers: 2, Coroutines: most})
		move := func(n int, end func()) {
			free := occupy(t, rt, 1)
			gates := make([]gate, n)
			var handles []*sched.JoinHandle[int]
			for i := range gates {
				handles = append(handles, sched.Go(rt, func(cx *sched.Context) (int, error) {
					_, err := sched.Await[string](cx, &gates[i])
					end()
					return cx.Worker(), err
				}))
				eventually(t, "a task waits", func() bool { return gates[i].polls.Load() == 1 })
			}
			release := occupy(t, rt, 0)
			free()
			for i := range gates {
				gates[i].Open("")
			}
			for _, h := range handles {
				_, _ = wait(t, h)
			}
			release()
			pass(t, rt, 1) // so that it has put away the last stack
		}
		for range times {
			move(each, func() {})
			require.LessOrEqual(t, coroutineStacks(), 2*most)
		}
		stats := func() sched.WorkerStats { pass(t, rt, 0); pass(t, rt, 1); atRest(t, rt); return rt.Stats().Total }
		s := stats()
		require.Zero(t, s.Coroutines)
		require.GreaterOrEqual(t, s.CoroutinesReused, uint64(each*(times-3)))
		move(10*most, func() {})
		require.LessOrEqual(t, coroutineStacks(), 2*most)
		move(each, runtime.Goexit)
		move(each, func() {})
		require.Zero(t, stats().Coroutines)
		require.NoError(t, shut(t, rt))
		eventually(t, "the stacks end", func() bool { return coroutineStacks() == 0 })
	})
}

// Tasks that have moved are unwound, too, and never two functions of one task concurrently.
func TestCloseUnwindsTasksThatHaveMoved(t *testing.T) {
	const n, functions = 20, 4
	onRoaming(t, func(t *testing.T, start func(sched.Config) *sched.Runtime) {
		rt := start(sched.Config{Workers: 4})
		var waiting, unwound atomic.Int64
		for range n {
			shared := 0 // the race detector checks its use
			fns := make([]func(*sched.Context) error, functions)
			for i := range fns {
				fns[i] = func(cx *sched.Context) error {
					defer func() {
						if shared++; shared == functions {
							unwound.Add(1)
						}
					}()
					for range 10 * i {
						if _, err := sched.Await(cx, sched.Yield()); err != nil {
							return err
						}
					}
					waiting.Add(1)
					_, err := sched.Await[string](cx, new(gate))
					return err
				}
			}
			newHost(rt, fns...).task.Wake()
		}
		eventually(t, "all wait", func() bool { return waiting.Load() == n*functions })
		require.NoError(t, shut(t, rt))
		require.EqualValues(t, n, unwound.Load())
	})
}

// The report has the stack of the function, although the function began on another worker.
func TestASlowTaskThatHasMovedIsReportedWithItsStack(t *testing.T) {
	rt, l := pausedSlow(t, sched.Config{Workers: 2})
	free := occupy(t, rt, 1)
	var g gate
	leave := make(chan struct{})
	blocks := make(chan struct{})
	h := sched.Go(rt, func(cx *sched.Context) (int, error) {
		_, err := sched.Await[string](cx, &g)
		close(blocks)
		<-leave
		return cx.Worker(), err
	})
	eventually(t, "the task waits", func() bool { return g.polls.Load() == 1 })
	home := occupy(t, rt, 0)
	free()
	g.Open("")
	receive(t, "it blocks", blocks)
	home() // otherwise the report with the stack may be for this task
	eventually(t, "worker 0 parks", func() bool { return rt.Stats().Parked == 1 })
	rt.Advance(slowTask)
	all := l.take()
	close(leave)
	at, err := wait(t, h)
	require.NoError(t, err)
	require.Equal(t, 1, at)
	i := slices.IndexFunc(all, func(s sched.SlowTask) bool { return s.Worker == 1 })
	require.GreaterOrEqual(t, i, 0)
	require.Contains(t, all[i].Stack, "TestASlowTaskThatHasMovedIsReportedWithItsStack")
	require.True(t, strings.HasPrefix(all[i].Handler, "github.com/suiro-go/suiro/sched_test.TestASlowTask"), all[i].Handler)
}
