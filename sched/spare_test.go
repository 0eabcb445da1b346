package sched_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/cputime"
	"github.com/suiro-go/suiro/sched"
)

// withSpares runs a test on runtimes with few and with many workers, without I/O and with a
// driver, and with the given number of spares.
func withSpares(t *testing.T, spares int, test func(t *testing.T, rt *sched.Runtime)) {
	for _, workers := range []int{1, 2, 4} {
		t.Run(fmt.Sprintf("sleeper/%d", workers), func(t *testing.T) {
			test(t, start(t, sched.Config{Workers: workers, Spares: spares}))
		})
		t.Run(fmt.Sprintf("driver/%d", workers), func(t *testing.T) {
			rt, _ := startFakes(t, sched.Config{Workers: workers, Spares: spares})
			test(t, rt)
		})
	}
}

// occupyAll keeps all workers busy with a task each until release is called.
func occupyAll(t *testing.T, rt *sched.Runtime) (release func()) {
	t.Helper()
	var all []func()
	for home := range rt.Workers() {
		all = append(all, occupy(t, rt, home))
	}
	return func() {
		for _, release := range all {
			release()
		}
	}
}

// recalled waits until no spare is in service.
func recalled(t *testing.T, rt *sched.Runtime) {
	t.Helper()
	eventually(t, "the spares are recalled", func() bool { return rt.Stats().Deployed == 0 })
}

func TestASpareRunsWhatWaitsWhileAllWorkersAreStuck(t *testing.T) {
	for name, queue := range map[string]func(rt *sched.Runtime, ran func()){
		"a spawn": func(rt *sched.Runtime, ran func()) {
			sched.Spawn(rt, sched.FutureFunc[int](func(*sched.Context) (int, error) { ran(); return 0, nil })).Detach()
		},
		"a stackful task": func(rt *sched.Runtime, ran func()) {
			sched.Go(rt, func(cx *sched.Context) (int, error) {
				_, err := sched.Await(cx, sched.Sleep(time.Millisecond))
				ran()
				return 0, err
			}).Detach()
		},
		"in an inbox": func(rt *sched.Runtime, ran func()) {
			freeTask(rt, func(*sched.Context) bool { ran(); return true }).WakeOn(0)
		},
		"a timer": func(rt *sched.Runtime, ran func()) {
			task := freeTask(rt, func(*sched.Context) bool { ran(); return true })
			rt.StartTimer(new(sched.Timer), rt.Now()+5*time.Millisecond, task.Waker())
		},
		"many": func(rt *sched.Runtime, ran func()) {
			var left atomic.Int64
			left.Store(1000)
			for i := range 1000 {
				freeTask(rt, func(*sched.Context) bool {
					if left.Add(-1) == 0 {
						ran()
					}
					return true
				}).WakeOn(i)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			withSpares(t, 1, func(t *testing.T, rt *sched.Runtime) {
				for range 3 {
					release := occupyAll(t, rt)
					ran := make(chan struct{})
					queue(rt, func() { close(ran) })
					receive(t, "it runs on a spare", ran)
					require.Equal(t, rt.Workers()+1, len(rt.Stats().Workers))
					release()
					recalled(t, rt)
				}
				require.Positive(t, rt.Stats().Deployments)
			})
		})
	}
}

func TestASpareTakesWhatStuckWorkersDriversHave(t *testing.T) {
	for _, workers := range []int{1, 2, 4} {
		drivers := make([]*rescued, workers+1)
		for i := range drivers {
			drivers[i] = &rescued{fake: newFake()}
		}
		rt := start(t, sched.Config{Workers: workers, Spares: 1, NewDriver: func(i int) (sched.Driver, error) { return drivers[i], nil }})
		release := occupyAll(t, rt)
		var ran sync.WaitGroup
		for home := range workers {
			ran.Add(1)
			task := freeTask(rt, func(*sched.Context) bool { ran.Done(); return true })
			drivers[home].events <- func(cx *sched.Context) (int, error) { cx.Wake(task.Waker()); return 1, nil }
		}
		awaitAll(t, &ran)
		release()
	}
}

func TestOneSpareMoreThanStuckTasksServes(t *testing.T) {
	withSpares(t, 3, func(t *testing.T, rt *sched.Runtime) {
		release := occupyAll(t, rt)
		var all []chan struct{}
		for range 2 {
			in, free := make(chan struct{}), make(chan struct{})
			freeTask(rt, func(*sched.Context) bool { close(in); <-free; return true }).Wake()
			receive(t, "a spare gets stuck", in)
			all = append(all, free)
		}
		ran := make(chan struct{})
		freeTask(rt, func(*sched.Context) bool { close(ran); return true }).Wake()
		receive(t, "the third spare serves", ran)
		require.Len(t, rt.Stats().Workers, rt.Workers()+3)
		release()
		for _, free := range all {
			close(free)
		}
		recalled(t, rt)
	})
}

// If two spares are not stuck, one of them is enough, also while the workers stay stuck.
func TestASpareTooManyIsRecalled(t *testing.T) {
	withSpares(t, 2, func(t *testing.T, rt *sched.Runtime) {
		release := occupyAll(t, rt)
		in, free := make(chan struct{}), make(chan struct{})
		freeTask(rt, func(*sched.Context) bool { close(in); <-free; return true }).Wake()
		receive(t, "a spare gets stuck", in)
		eventually(t, "the other one is in service", func() bool { return rt.Stats().Deployed == 2 })
		close(free)
		eventually(t, "one is recalled", func() bool { return rt.Stats().Deployed == 1 })
		ran := make(chan struct{})
		freeTask(rt, func(*sched.Context) bool { close(ran); return true }).Wake()
		receive(t, "the other one serves", ran)
		release()
		recalled(t, rt)
	})
}

// A blocker is a result whose Release waits for the channel.
type blocker chan struct{}

func (b blocker) Release() {
	if b != nil {
		<-b
	}
}

// Functions that are called at the end of a task belong to no run, but also block the worker.
func TestASpareServesBesideFunctionsThatEndATask(t *testing.T) {
	free := make(chan struct{})
	in := make(chan struct{}, 1)
	for name, test := range map[string]struct {
		hooks sched.Hooks
		block func(rt *sched.Runtime)
	}{
		"a hook": {
			hooks: sched.Hooks{TaskEnd: func(_ sched.TaskID, err error) {
				if err != nil {
					in <- struct{}{}
					<-free
				}
			}},
			block: func(rt *sched.Runtime) {
				sched.Spawn(rt, sched.FutureFunc[int](func(*sched.Context) (int, error) { return 0, errors.New("it blocks") })).Detach()
			},
		},
		"a release": {
			block: func(rt *sched.Runtime) {
				detached := make(chan struct{})
				h := sched.Spawn(rt, sched.FutureFunc[blocker](func(*sched.Context) (blocker, error) {
					<-detached // otherwise Detach releases the result
					in <- struct{}{}
					return free, nil
				}))
				h.Detach()
				close(detached)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			rt := start(t, sched.Config{Workers: 1, Spares: 1, Hooks: test.hooks})
			test.block(rt)
			receive(t, "it blocks", in)
			v, err := wait(t, sched.Spawn(rt, sched.FutureFunc[int](func(*sched.Context) (int, error) { return 7, nil })))
			require.NoError(t, err)
			require.Equal(t, 7, v)
			eventually(t, "a spare is in service", func() bool { return rt.Stats().Deployed == 1 })
			free <- struct{}{}
			recalled(t, rt)
		})
	}
}

// A spare that rests keeps no stacks for stackful tasks, and its driver frees its memory.
func TestASpareThatRestsGivesMemoryBack(t *testing.T) {
	const tasks = 10
	eventually(t, "the stacks of earlier tests end", func() bool { return coroutineStacks() == 0 })
	for _, anyThread := range []bool{false, true} {
		var trims [2]atomic.Int64
		rt := start(t, sched.Config{Workers: 1, Spares: 1, AnyThread: anyThread, NewDriver: func(i int) (sched.Driver, error) {
			return &trimmed{newFake(), &trims[i]}, nil
		}})
		for n := range int64(2) {
			release := occupyAll(t, rt)
			var handles []*sched.JoinHandle[int]
			for range tasks {
				handles = append(handles, sched.Go(rt, func(cx *sched.Context) (int, error) {
					_, err := sched.Await(cx, sched.Yield())
					return cx.Worker(), err
				}))
			}
			for _, h := range handles {
				at, err := wait(t, h)
				require.NoError(t, err)
				require.Equal(t, 1, at)
			}
			require.Positive(t, coroutineStacks())
			require.Equal(t, n, trims[1].Load(), "it is in service")
			release()
			eventually(t, "the stacks end", func() bool { return coroutineStacks() == 0 })
			eventually(t, "the driver is told", func() bool { return trims[1].Load() == n+1 })
		}
		require.Zero(t, trims[0].Load())
	}
}

// A trimmed is a fake that counts calls of Trim.
type trimmed struct {
	*fake
	trims *atomic.Int64
}

func (d *trimmed) Trim() { d.trims.Add(1) }

// A lingering driver stays in one poll until done reports true.
type lingering struct {
	*trimmed
	armed atomic.Bool
	done  func() bool
}

func (d *lingering) Poll(cx *sched.Context, wait time.Duration, hold bool) (int, error) {
	if wait == 0 && d.armed.CompareAndSwap(true, false) {
		for !d.done() {
			time.Sleep(time.Millisecond)
		}
	}
	return d.trimmed.Poll(cx, wait, hold)
}

// A spare may be recalled while it polls its driver: it frees its memory nonetheless before it
// rests.
func TestASpareThatIsRecalledInAPollGivesMemoryBack(t *testing.T) {
	var trims atomic.Int64
	spare := &lingering{trimmed: &trimmed{newFake(), &trims}}
	rt := start(t, sched.Config{Workers: 1, Spares: 1, NewDriver: func(i int) (sched.Driver, error) {
		if i == 0 {
			return newFake(), nil
		}
		return spare, nil
	}})
	spare.done = func() bool { return rt.Stats().Deployed == 0 }
	release := occupyAll(t, rt)
	v, err := wait(t, sched.Go(rt, func(cx *sched.Context) (int, error) { return cx.Worker(), nil }))
	require.NoError(t, err)
	require.Equal(t, 1, v, "the spare runs it")
	spare.armed.Store(true)
	eventually(t, "the spare polls", func() bool { return !spare.armed.Load() })
	release()
	eventually(t, "the driver is told", func() bool { return trims.Load() == 1 })
}

// A logged records the output of a logger.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) count(what string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), what)
}

func TestThatAllSparesAreStuckIsToldOnce(t *testing.T) {
	const spares, tasks = 4, 64
	var log logged
	rt := start(t, sched.Config{Workers: 1, Spares: spares, SlowTask: -1, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	var began atomic.Int64
	var ran sync.WaitGroup
	free := make(chan struct{})
	release := sync.OnceFunc(func() { close(free) })
	defer release()
	for range tasks {
		ran.Add(1)
		freeTask(rt, func(*sched.Context) bool { began.Add(1); <-free; ran.Done(); return true }).Wake()
	}
	eventually(t, "all are stuck", func() bool { return rt.Stats().Exhausted > 0 && began.Load() == 1+spares })
	eventually(t, "it is logged", func() bool { return log.count("all spare workers are stuck") == 1 })
	require.Equal(t, spares, rt.Stats().Deployed)
	release()
	awaitAll(t, &ran)
	recalled(t, rt)
	require.Equal(t, 1, log.count("all spare workers are stuck"))
}

// A blockingHandler is a slog.Handler whose Handle returns when free is closed.
type blockingHandler struct {
	slog.Handler
	once     *sync.Once
	in, free chan struct{}
}

func (h *blockingHandler) Handle(context.Context, slog.Record) error {
	h.once.Do(func() { close(h.in) })
	<-h.free
	return nil
}

// A log message may block if the program that reads the log does. The spares do not wait for that.
func TestSparesAreDeployedWhileTheLogBlocks(t *testing.T) {
	withoutEnd := &blockingHandler{slog.NewTextHandler(&logged{}, nil), new(sync.Once), make(chan struct{}), make(chan struct{})}
	defer close(withoutEnd.free)
	rt := start(t, sched.Config{Workers: 1, Spares: 1, SlowTask: -1, Logger: slog.New(withoutEnd)})
	release := occupyAll(t, rt)
	in, free := make(chan struct{}), make(chan struct{})
	defer sync.OnceFunc(func() { close(free) })()
	freeTask(rt, func(*sched.Context) bool { close(in); <-free; return true }).Wake()
	receive(t, "the spare gets stuck", in)
	receive(t, "it is logged that all are stuck", withoutEnd.in)
	free <- struct{}{}
	release()
	recalled(t, rt)
	release = occupyAll(t, rt)
	ran := make(chan struct{})
	freeTask(rt, func(*sched.Context) bool { close(ran); return true }).Wake()
	receive(t, "the spare serves", ran)
	release()
}

func TestARuntimeRestsAfterItsSparesWereRecalled(t *testing.T) {
	withSpares(t, 2, func(t *testing.T, rt *sched.Runtime) {
		for range 2 {
			release := occupyAll(t, rt)
			eventually(t, "a spare is in service", func() bool { return rt.Stats().Deployed == 1 })
			release()
			atRest(t, rt)
			recalled(t, rt)
			eventually(t, "nobody looks", rt.AllRest)
		}
		require.EqualValues(t, 2, rt.Stats().Deployments)
	})
}

// A driver may take long to make. By then the workers may have gone on, so the spare is not
// needed.
func TestASpareThatComesTooLateIsRecalled(t *testing.T) {
	asked, ready := make(chan struct{}), make(chan struct{})
	rt := start(t, sched.Config{Workers: 1, Spares: 1, NewDriver: func(worker int) (sched.Driver, error) {
		if worker > 0 {
			close(asked)
			<-ready
		}
		return newFake(), nil
	}})
	release := occupyAll(t, rt)
	receive(t, "the spare makes its driver", asked)
	release()
	eventually(t, "the worker has gone on for long", func() bool { return rt.LooksSinceStuck() > 20 })
	close(ready)
	eventually(t, "the spare is there", func() bool { return rt.Stats().Deployments == 1 })
	recalled(t, rt)
	eventually(t, "nobody looks", rt.AllRest)
}

// A task that was long waits until long tasks may run. If no worker runs it, a spare does, even
// the last one.
func TestALongTaskRunsOnASpareIfWorkersStayStuck(t *testing.T) {
	withSpares(t, 1, func(t *testing.T, rt *sched.Runtime) {
		runs, ran := 0, make(chan struct{}, 2)
		task := freeTask(rt, func(*sched.Context) bool {
			if runs++; runs == 1 {
				time.Sleep(20 * time.Millisecond) // a long run
			}
			ran <- struct{}{}
			return runs == 2
		})
		task.Wake()
		receive(t, "it runs", ran)
		release := occupyAll(t, rt)
		task.Wake()
		receive(t, "it runs again", ran)
		release()
	})
}

// A stackful task that a spare has begun goes on after the spare was recalled.
func TestWhatASpareHasBegunGoesOn(t *testing.T) {
	withSpares(t, 1, func(t *testing.T, rt *sched.Runtime) {
		release := occupyAll(t, rt)
		began, notify := make(chan struct{}), make(chan int, 1)
		h := sched.Go(rt, func(cx *sched.Context) (int, error) {
			close(began)
			return sched.Await(cx, sched.Recv(notify))
		})
		receive(t, "it begins", began)
		release()
		recalled(t, rt)
		notify <- 7
		v, err := wait(t, h)
		require.NoError(t, err)
		require.Equal(t, 7, v)
	})
}

func TestASpareSurvivesPanicsAndExits(t *testing.T) {
	withSpares(t, 1, func(t *testing.T, rt *sched.Runtime) {
		release := occupyAll(t, rt)
		defer release()
		for range 2 {
			_, err := wait(t, sched.Spawn(rt, sched.FutureFunc[int](func(*sched.Context) (int, error) { panic("of the task") })))
			require.Error(t, err)
			_, err = wait(t, sched.Spawn(rt, sched.FutureFunc[int](func(*sched.Context) (int, error) { runtime.Goexit(); return 0, nil })))
			require.ErrorIs(t, err, sched.ErrGoexit)
		}
	})
}

func TestASpareWhoseDriverFails(t *testing.T) {
	for name, fail := range map[string]func() (sched.Driver, error){
		"with an error": func() (sched.Driver, error) { return nil, errors.New("no descriptors") },
		"with a panic":  func() (sched.Driver, error) { panic("no descriptors") },
		"by an exit":    func() (sched.Driver, error) { runtime.Goexit(); return nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			var log logged
			rt := start(t, sched.Config{Workers: 1, Spares: 1, Logger: slog.New(slog.NewTextHandler(&log, nil)),
				NewDriver: func(worker int) (sched.Driver, error) {
					if worker > 0 {
						return fail()
					}
					return newFake(), nil
				}})
			release := occupyAll(t, rt)
			eventually(t, "it is logged", func() bool { return log.count("a spare worker could not be made") > 0 })
			release()
			pass(t, rt, 0)
			require.NoError(t, shut(t, rt))
		})
	}
}

func TestShutdownNamesAStuckSpare(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1, Spares: 1})
	release := occupyAll(t, rt)
	in, free := make(chan struct{}), make(chan struct{})
	sched.Spawn(rt, sched.FutureFunc[int](func(*sched.Context) (int, error) { close(in); <-free; return 0, nil })).Detach()
	receive(t, "the spare gets stuck", in)
	eventually(t, "both are reported", func() bool { return len(rt.Busy(10*time.Millisecond)) == 2 })
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	err := rt.Shutdown(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "worker 0, in a task")
	require.ErrorContains(t, err, "worker 1, in a task")
	close(free)
	release()
	require.NoError(t, shut(t, rt))
}

func TestARuntimeClosesWhileSparesAreDeployed(t *testing.T) {
	withSpares(t, 2, func(t *testing.T, rt *sched.Runtime) {
		release := occupyAll(t, rt)
		eventually(t, "a spare is in service", func() bool { return rt.Stats().Deployed == 1 })
		closed := make(chan error, 1)
		go func() { closed <- rt.Close() }()
		eventually(t, "it is on its way", func() bool { return rt.Start() != nil })
		release()
		require.NoError(t, receive(t, "it closes", closed))
	})
}

func TestGOMAXPROCSIsRaisedWhileARuntimeHasUsedSpares(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	a := start(t, sched.Config{Workers: 1, Spares: 3})
	require.Equal(t, before, runtime.GOMAXPROCS(0))
	b := start(t, sched.Config{Workers: 1, Spares: 5})
	for _, c := range []struct {
		rt   *sched.Runtime
		want int
	}{{a, before + 3}, {b, before + 5}} {
		release := occupyAll(t, c.rt)
		eventually(t, "a spare is in service", func() bool { return c.rt.Stats().Deployed == 1 })
		require.Equal(t, c.want, runtime.GOMAXPROCS(0))
		release()
	}
	workers := start(t, sched.Config{}).Workers()
	require.Equal(t, before, workers, "spares' processors are for nobody else")
	require.NoError(t, shut(t, a))
	require.Equal(t, before+5, runtime.GOMAXPROCS(0))
	require.NoError(t, shut(t, b))
	require.Equal(t, before, runtime.GOMAXPROCS(0))
}

// GOMAXPROCS is raised for tasks that compute for long again and again, although no worker is
// stuck in one run.
func TestGOMAXPROCSIsRaisedForTasksThatComputeForLong(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	rt := start(t, sched.Config{Workers: 2, Spares: 3})
	runs, ended := 0, make(chan struct{})
	newTask(rt, 0, func(cx *sched.Context) bool {
		for began := time.Now(); time.Since(began) < 1500*time.Microsecond; {
		}
		if runs++; runs < 40 {
			cx.Wake(cx.Waker())
			return false
		}
		close(ended)
		return true
	}).Wake()
	receive(t, "the task ends", ended)
	require.Equal(t, before+3, runtime.GOMAXPROCS(0))
	require.Zero(t, rt.Stats().Deployments, "the other worker was free")
	require.NoError(t, shut(t, rt))
	require.Equal(t, before, runtime.GOMAXPROCS(0))
}

// Workers whose threads only wait for a processor are not stuck. They count as stuck as soon as
// their threads are known to compute or to sleep.
func TestNoSpareIsDeployedWhileAThreadWaitsForAProcessor(t *testing.T) {
	for name, then := range map[string]func(r *cputime.Reading, ok *bool){
		"it computes":                func(r *cputime.Reading, _ *bool) { r.Ran += sched.ComputesAt },
		"it sleeps":                  func(r *cputime.Reading, _ *bool) { r.Runnable = false },
		"the kernel tells no longer": func(_ *cputime.Reading, ok *bool) { *ok = false },
	} {
		for _, workers := range []int{1, 2} {
			t.Run(fmt.Sprint(name, "/", workers), func(t *testing.T) {
				rt := sched.New(sched.Config{Workers: workers, Spares: 1, SlowTask: -1,
					NewDriver: func(int) (sched.Driver, error) { return newFake(), nil }})
				var mu sync.Mutex
				now, ok := cputime.Reading{Runnable: true}, true
				rt.FakeThreads(func() (int, cputime.Reading) { return 7, cputime.Reading{} }, func(int) (cputime.Reading, bool) {
					mu.Lock()
					defer mu.Unlock()
					return now, ok
				})
				require.NoError(t, rt.Start())
				t.Cleanup(func() { shut(t, rt) })
				release := occupyAll(t, rt)
				from := rt.Looks()
				eventually(t, "there are looks", func() bool { return rt.Looks()-from > 10 })
				require.Zero(t, rt.Stats().Deployments)
				mu.Lock()
				then(&now, &ok)
				mu.Unlock()
				eventually(t, "a spare is in service", func() bool { return rt.Stats().Deployed == 1 })
				release()
				recalled(t, rt)
			})
		}
	}
}

func TestNoSparesIfNoneAreWanted(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1, Spares: -1, SlowTask: time.Millisecond})
	require.Zero(t, rt.Spares())
	release := occupyAll(t, rt)
	from := rt.Looks()
	eventually(t, "there are looks", func() bool { return rt.Looks()-from > 50 }) // a few would be enough
	require.Len(t, rt.Stats().Workers, 1)
	release()
}
