package sched_test

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// atRest waits until all workers are parked.
func atRest(t *testing.T, rt *sched.Runtime) {
	t.Helper()
	eventually(t, "all workers park", func() bool { return rt.Stats().Parked == rt.Workers() })
}

// awaitParked makes all workers sleep without a limit, as they do when no worker has run for a
// while.
func awaitParked(t *testing.T, rt *sched.Runtime, fakes []*fake) {
	t.Helper()
	eventually(t, "all workers sleep without a limit", func() bool {
		for _, d := range fakes {
			if c := d.lastCall(); c.phase != blocking || c.wait >= 0 || !d.waitsIn(blocking) {
				return false
			}
		}
		return true
	})
}

// The stuck task ends only when all tasks behind it have run elsewhere: tasks in the
// ring, the LIFO slot and the inbox, and tasks that have yielded.
func TestWhatWaitsBehindAStuckTaskIsRunByOthers(t *testing.T) {
	const behind = 100
	type count = *sync.WaitGroup
	for name, queue := range map[string]func(cx *sched.Context, ran count){
		"spawned": func(cx *sched.Context, ran count) {
			for range behind {
				sched.Spawn(cx, sched.FutureFunc[int](func(*sched.Context) (int, error) { ran.Done(); return 0, nil })).Detach()
			}
		},
		"spawned stackful": func(cx *sched.Context, ran count) {
			for range behind {
				sched.Go(cx, func(*sched.Context) (int, error) { ran.Done(); return 0, nil }).Detach()
			}
		},
		"in the LIFO slot alone": func(cx *sched.Context, ran count) { // tokio #4941
			ran.Add(1 - behind)
			cx.Wake(freeTask(cx.Runtime(), func(*sched.Context) bool { ran.Done(); return true }).Waker())
		},
		"in the inbox": func(cx *sched.Context, ran count) {
			for range behind {
				freeTask(cx.Runtime(), func(*sched.Context) bool { ran.Done(); return true }).WakeOn(cx.Worker())
			}
		},
		"in the global queue": func(cx *sched.Context, ran count) {
			for range behind {
				freeTask(cx.Runtime(), func(*sched.Context) bool { ran.Done(); return true }).Wake()
			}
		},
		"more than the ring holds": func(cx *sched.Context, ran count) {
			ran.Add(9 * behind)
			for range 10 * behind {
				cx.Wake(freeTask(cx.Runtime(), func(*sched.Context) bool { ran.Done(); return true }).Waker())
			}
		},
	} {
		for _, workers := range []int{2, 4} {
			t.Run(fmt.Sprintf("%s/%d", name, workers), func(t *testing.T) {
				rt, fakes := startFakes(t, sched.Config{Workers: workers})
				for home, fromDriver := range []bool{false, true} {
					awaitParked(t, rt, fakes)
					var ran sync.WaitGroup
					ran.Add(behind)
					stuck, leave := make(chan struct{}), make(chan struct{})
					b := func(cx *sched.Context) bool {
						queue(cx, &ran)
						close(stuck)
						<-leave
						return true
					}
					if task := freeTask(rt, b); !fromDriver {
						task.WakeOn(home)
					} else {
						fakes[home].events <- func(cx *sched.Context) (int, error) { cx.Wake(task.Waker()); return 1, nil }
					}
					receive(t, "the task gets stuck", stuck)
					awaitAll(t, &ran)
					close(leave)
				}
			})
		}
	}
}

func TestWhatHasYieldedBehindAStuckTaskIsRunByOthers(t *testing.T) {
	for _, workers := range []int{2, 4} {
		rt, fakes := startFakes(t, sched.Config{Workers: workers})
		awaitParked(t, rt, fakes)
		release := occupy(t, rt, 0)
		yielded, stuck, leave := make(chan struct{}), make(chan struct{}), make(chan struct{})
		leaveOnce := sync.OnceFunc(func() { close(leave) })
		t.Cleanup(leaveOnce)
		runs := 0
		first := freeTask(rt, func(cx *sched.Context) bool {
			if runs++; runs == 1 {
				_, _ = sched.Yield().Poll(cx)
				return false
			}
			close(yielded)
			return true
		})
		newTask(rt, 0, func(cx *sched.Context) bool {
			cx.Wake(first.Waker()) // it runs next
			return true
		}).Wake()
		newTask(rt, 0, func(*sched.Context) bool { close(stuck); <-leave; return true }).Wake() // and this one after that
		release()
		receive(t, "a task gets stuck", stuck)
		receive(t, "the task that yielded runs again", yielded)
		leaveOnce()
	}
}

// A worker is woken for a task, and gets stuck in a hook before it takes the task. Until then it
// counts as searching, so nobody else is woken for work.
func TestATaskIsRunAlthoughTheWorkerWokenForItIsStuckInAHook(t *testing.T) {
	var armed atomic.Bool
	leave := make(chan struct{})
	rt, fakes := startFakes(t, sched.Config{Workers: 2, Hooks: sched.Hooks{WorkerUnpark: func(worker int) {
		if worker == 0 && armed.Load() {
			<-leave
		}
	}}})
	t.Cleanup(sync.OnceFunc(func() { close(leave) }))
	awaitParked(t, rt, fakes)
	armed.Store(true)
	ran := make(chan int, 1)
	freeTask(rt, func(cx *sched.Context) bool { ran <- cx.Worker(); return true }).Wake()
	require.Equal(t, 1, receive(t, "the task runs", ran))
}

// A pinned task stays with its worker, however long that takes.
func TestWhatIsPinnedWaitsForItsWorker(t *testing.T) {
	rt, fakes := startFakes(t, sched.Config{Workers: 4})
	awaitParked(t, rt, fakes)
	release := occupy(t, rt, 2)
	var at sync.Map
	var ran sync.WaitGroup
	for i := range 20 {
		ran.Add(1)
		task := newTask(rt, 2, func(cx *sched.Context) bool { at.Store(i, cx.Worker()); ran.Done(); return true })
		if i%2 == 0 {
			task.Wake()
		} else {
			task.WakeOn(1)
		}
	}
	for range 20 { // time for the others to steal
		eventually(t, "others run", func() bool {
			_, err := wait(t, sched.Spawn(rt, ready(1, nil)))
			return err == nil
		})
	}
	at.Range(func(i, worker any) bool { t.Errorf("task %d ran on worker %d", i, worker); return true })
	release()
	awaitAll(t, &ran)
	at.Range(func(_, worker any) bool { require.Equal(t, 2, worker); return true })
}

// A rescued is a fake with events that others may take.
type rescued struct {
	*fake
	mu      sync.Mutex // of the consumer of events
	rescues atomic.Int64
}

func (r *rescued) Poll(cx *sched.Context, wait time.Duration, hold bool) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fake.Poll(cx, wait, hold)
}

func (r *rescued) Rescue(cx *sched.Context) (n int) {
	if !r.mu.TryLock() {
		return 0
	}
	defer r.mu.Unlock()
	for {
		select {
		case e := <-r.events:
			more, _ := e(cx)
			n += more
			r.rescues.Add(int64(more))
		default:
			return n
		}
	}
}

// With drivers for the connections. each connection has a task that its driver wakes
// for a request.
func TestWhatAStuckWorkersDriverHasIsDoneByOthers(t *testing.T) {
	const connections = 100
	for _, workers := range []int{2, 4} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			drivers := make([]*rescued, workers)
			for i := range drivers {
				drivers[i] = &rescued{fake: newFake()}
				drivers[i].events = make(chan event, connections)
			}
			rt := start(t, sched.Config{Workers: workers, NewDriver: func(i int) (sched.Driver, error) { return drivers[i], nil }})
			for home := range workers {
				atRest(t, rt)
				release := occupy(t, rt, home)
				for range 3 { // requests, one after the other
					var answered sync.WaitGroup
					for range connections {
						answered.Add(1)
						task := freeTask(rt, func(cx *sched.Context) bool {
							if cx.Worker() == home {
								t.Error("it ran on the stuck worker")
							}
							answered.Done()
							return true
						})
						drivers[home].events <- func(cx *sched.Context) (int, error) { cx.Wake(task.Waker()); return 1, nil }
					}
					awaitAll(t, &answered)
				}
				eventually(t, "all were rescued", func() bool { return drivers[home].rescues.Load() == 3*connections }) // counted after the wake-up
				release()
				pass(t, rt, home)
			}
			require.NoError(t, shut(t, rt))
			total := rt.Stats().Total
			require.EqualValues(t, workers*3*connections, total.Rescued)
			require.Positive(t, total.Rescues)
		})
	}
}

// The worker is delayed between its last check and the wait, and meanwhile gets work.
// Only the wake-up ends the wait.
func TestWhatComesBetweenTheLastLookAndTheWaitIsNoticed(t *testing.T) {
	for _, workers := range []int{1, 2, 4} {
		for name, put := range map[string]func(t *testing.T, rt *sched.Runtime, ran func()){
			"a spawn": func(_ *testing.T, rt *sched.Runtime, ran func()) {
				sched.Spawn(rt, sched.FutureFunc[int](func(*sched.Context) (int, error) { ran(); return 0, nil })).Detach()
			},
			"a wake of a pinned task": func(_ *testing.T, rt *sched.Runtime, ran func()) {
				newTask(rt, 0, func(*sched.Context) bool { ran(); return true }).Wake()
			},
			"a wake on a worker": func(_ *testing.T, rt *sched.Runtime, ran func()) {
				freeTask(rt, func(*sched.Context) bool { ran(); return true }).WakeOn(0)
			},
			"a timer": func(_ *testing.T, rt *sched.Runtime, ran func()) {
				task := freeTask(rt, func(*sched.Context) bool { ran(); return true })
				rt.StartTimer(new(sched.Timer), 0, task.Waker()) // an endless wait does not end in time for a later timer
			},
			"a close": func(_ *testing.T, rt *sched.Runtime, ran func()) {
				go func() { _ = rt.Close(); ran() }()
			},
		} {
			for holdName, hold := range map[string]time.Duration{"hold": 0, "block": -1} {
				t.Run(fmt.Sprintf("%s/%s/%d", name, holdName, workers), func(t *testing.T) {
					var gated atomic.Bool
					gated.Store(true)
					announced, goOn := make(chan int), make(chan struct{})
					cfg := sched.Config{Hold: hold, Hooks: sched.Hooks{WorkerPark: func(w int) {
						if gated.Load() {
							announced <- w
							<-goOn
						}
					}}}.Endless()
					fakes := make([]*fake, workers)
					for i := range fakes {
						fakes[i] = newFake()
						fakes[i].endless = true
					}
					rt := startOn(t, cfg, fakes)
					for range workers {
						receive(t, "a worker is about to wait", announced)
					}
					ran := make(chan struct{})
					put(t, rt, func() { close(ran) })
					gated.Store(false)
					close(goOn)
					receive(t, "it is noticed", ran)
				})
			}
		}
	}
}

// The worker leaves at the end of a tick, with tasks in its batch
// buffer, its queue and the global queue.
func TestTasksLeftInABatchBufferAreEnded(t *testing.T) {
	for _, workers := range []int{1, 2} {
		halfUsed := false
		for attempt := 0; !halfUsed; attempt++ {
			require.Less(t, attempt, 100, "no buffer was ever half used")
			rt := start(t, sched.Config{Workers: workers}.Endless())
			var releases []func()
			for home := range workers {
				releases = append(releases, occupy(t, rt, home))
			}
			const n = 1000
			var done atomic.Int64
			closed := make(chan error, 1)
			f := func(*sched.Context) (int, error) {
				if done.Add(1) == int64(30+attempt) {
					go func() { closed <- rt.Close() }()
					for rt.Start() == nil { // until the close has begun
						runtime.Gosched()
					}
				}
				return 1, nil
			}
			handles := make([]*sched.JoinHandle[int], n)
			for i := range handles {
				handles[i] = sched.Spawn(rt, sched.FutureFunc[int](f))
			}
			for _, release := range releases {
				release()
			}
			require.NoError(t, receive(t, "the runtime closes", closed))
			for home := range workers {
				b := rt.Batched(home)
				halfUsed = halfUsed || b > 0 && b < 64
			}
			ended := 0
			for _, h := range handles {
				if _, err := wait(t, h); err != nil {
					require.ErrorIs(t, err, sched.ErrClosed)
					ended++
				}
			}
			require.EqualValues(t, n, done.Load()+int64(ended))
		}
	}
}

func TestABatchBufferBehindAStuckTaskIsEmptiedByOthers(t *testing.T) {
	rt := start(t, sched.Config{Workers: 2})
	releases := []func(){occupy(t, rt, 0), occupy(t, rt, 1)}
	const n = 200
	var left sync.WaitGroup
	left.Add(n - 1)
	leave := make(chan struct{})
	var ran atomic.Int64
	for range n {
		freeTask(rt, func(*sched.Context) bool {
			if ran.Add(1) == 5 {
				<-leave // with the rest of the fetched tasks behind it
			} else {
				left.Done()
			}
			return true
		}).Wake()
	}
	for _, release := range releases {
		release()
	}
	awaitAll(t, &left)
	close(leave)
}

func TestWakeOnSpreadsTasks(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		n := rt.Workers()
		var all sync.WaitGroup // so that no worker is free to steal
		all.Add(n)
		at := make([]atomic.Int64, n)
		for i := range n {
			freeTask(rt, func(cx *sched.Context) bool {
				at[cx.Worker()].Add(1)
				all.Done()
				all.Wait()
				return true
			}).WakeOn(i + n)
		}
		awaitAll(t, &all)
		for i := range at {
			require.EqualValues(t, 1, at[i].Load(), "worker %d", i)
		}
	})
}

func TestWakeOnIsAWake(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		var runs atomic.Int64
		task := freeTask(rt, func(*sched.Context) bool { return runs.Add(1) == 3 })
		for i := range 5 {
			task.WakeOn(i)
			eventually(t, "it runs", func() bool { return runs.Load() == int64(min(i+1, 3)) })
		}
		for home := range rt.Workers() {
			pass(t, rt, home)
		}
		require.EqualValues(t, 3, runs.Load())
	})
}
