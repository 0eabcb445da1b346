package sched_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// hogs starts tasks of each kind that wake themselves until the test ends.
func hogs(t *testing.T, rt *sched.Runtime, n int) {
	t.Helper()
	var stop atomic.Bool
	var left atomic.Int64
	left.Store(int64(n))
	t.Cleanup(func() {
		stop.Store(true)
		eventually(t, "the tasks end", func() bool { return left.Load() == 0 })
	})
	for i := range n {
		freeTask(rt, func(cx *sched.Context) bool {
			if stop.Load() {
				left.Add(-1)
				return true
			}
			if i%2 == 0 {
				cx.Wake(cx.Waker())
			} else {
				_, _ = sched.Yield().Poll(cx)
			}
			return false
		}).Wake()
	}
}

// Each link of the chain is in the LIFO slot when its parent ends.
func TestATaskThatRespawnsItselfLetsOthersRun(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		var stop atomic.Bool
		var links atomic.Int64
		ended := make(chan struct{})
		var link func(cx *sched.Context) (int, error)
		link = func(cx *sched.Context) (int, error) {
			if links.Add(1); stop.Load() {
				close(ended)
			} else {
				sched.Spawn(cx, sched.FutureFunc[int](link)).Detach()
			}
			return 0, nil
		}
		sched.Spawn(rt, sched.FutureFunc[int](link)).Detach()
		eventually(t, "the chain goes on", func() bool { return links.Load() > 1000 })
		for range 10 {
			oneshot := new(gate)
			h := sched.Spawn(rt, oneshot)
			eventually(t, "the other task waits", func() bool { return oneshot.polls.Load() == 1 })
			oneshot.Open("sent")
			v, err := wait(t, h)
			require.NoError(t, err)
			require.Equal(t, "sent", v)
		}
		stop.Store(true)
		receive(t, "the chain ends", ended)
	})
}

// pingPong starts two tasks that wake each other until stop is set.
func pingPong(rt *sched.Runtime, stop *atomic.Bool, rallies *atomic.Int64, ended func()) {
	var players [2]*sched.Task
	for i := range players {
		players[i] = freeTask(rt, func(cx *sched.Context) bool {
			last := stop.Load() // before the wake, so that the other task sees it too
			cx.Wake(players[1-i].Waker())
			if rallies.Add(1); last {
				ended()
			}
			return last
		})
	}
	players[0].Wake()
}

func TestPairsThatWakeEachOtherLetATaskYield(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		const pairs = 100
		var stop atomic.Bool
		var rallies atomic.Int64
		var all sync.WaitGroup
		all.Add(2 * pairs)
		for range pairs {
			pingPong(rt, &stop, &rallies, all.Done)
		}
		eventually(t, "the pairs play", func() bool { return rallies.Load() > 10*pairs })
		yields, err := wait(t, sched.Go(rt, func(cx *sched.Context) (int, error) {
			for i := range 5 {
				if _, err := sched.Await(cx, sched.Yield()); err != nil {
					return i, err
				}
			}
			return 5, nil
		}))
		require.NoError(t, err)
		require.Equal(t, 5, yields)
		stop.Store(true)
		awaitAll(t, &all)
	})
}

func TestTwoTasksThatWakeEachOtherLetAThirdRun(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		var stop atomic.Bool
		var rallies atomic.Int64
		var both sync.WaitGroup
		both.Add(2)
		pingPong(rt, &stop, &rallies, both.Done)
		eventually(t, "they play", func() bool { return rallies.Load() > 100 })
		for i := range 10 {
			ran := make(chan struct{})
			third := freeTask(rt, func(*sched.Context) bool { close(ran); return true })
			if i%2 == 0 {
				third.Wake()
			} else {
				third.WakeOn(i)
			}
			receive(t, "the third runs", ran)
		}
		stop.Store(true)
		both.Wait()
	})
}

// With one worker the order is known.
func TestTheThirdRunsAfterThreeRunsFromTheLIFOSlot(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	var order []string // only the worker uses it until all tasks have ended
	var all sync.WaitGroup
	all.Add(3)
	release := occupy(t, rt, 0)
	var players [2]*sched.Task
	for i, name := range []string{"ping", "pong"} {
		runs := 0
		players[i] = freeTask(rt, func(cx *sched.Context) bool {
			order = append(order, name)
			cx.Wake(players[1-i].Waker())
			if runs++; runs == 5 {
				all.Done()
				return true
			}
			return false
		})
	}
	players[0].WakeOn(0)
	freeTask(rt, func(*sched.Context) bool { order = append(order, "third"); all.Done(); return true }).WakeOn(0)
	release()
	awaitAll(t, &all)
	require.Equal(t, []string{"ping", "pong", "ping", "pong", "third"}, order[:5])
	require.Len(t, order, 11)
}

// An exchange is a peer behind a driver. Each message is an event that wakes the task, and the
// task's answer causes the next message.
func exchange(t *testing.T, rt *sched.Runtime, drivers []*fake, times int) {
	t.Helper()
	done := make(chan struct{})
	var received atomic.Int64
	var task *sched.Task
	send := func(d *fake) {
		d.events <- func(cx *sched.Context) (int, error) {
			received.Add(1)
			cx.Wake(task.Waker())
			return 1, nil
		}
	}
	answered := int64(0)
	task = freeTask(rt, func(cx *sched.Context) bool {
		if answered == received.Load() {
			return false
		}
		if answered++; answered == int64(times) {
			close(done)
			return true
		}
		send(drivers[int(answered)%len(drivers)])
		return false
	})
	send(drivers[0])
	receive(t, "the exchange completes", done)
}

// With a driver for the peer.
func TestAnExchangeCompletesBesideTasksThatWakeThemselves(t *testing.T) {
	for _, workers := range []int{1, 2, 4} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			rt, fakes := startFakes(t, sched.Config{Workers: workers}.Endless())
			hogs(t, rt, 100)
			exchange(t, rt, fakes, 100)
		})
	}
}

func TestATimerFiresBesideTasksThatWakeThemselves(t *testing.T) {
	for _, tasks := range []int{1, 100} {
		onEach(t, func(t *testing.T, rt *sched.Runtime) {
			hogs(t, rt, tasks)
			for i := range 3 {
				a := newAlarm(rt, i)
				a.start(rt, rt.Now()+10*time.Millisecond)
				eventually(t, "the timer fires", func() bool { return len(a.runs()) > 0 })
				require.GreaterOrEqual(t, a.runs()[0], a.at)
			}
		})
	}
}

// With a driver for the listener. An event that is ready when the task yields is seen
// before the task has yielded ten times.
func TestWhatADriverHasIsSeenWithinTenYields(t *testing.T) {
	for name, giveWay := range map[string]func(cx *sched.Context){
		"yields":              func(cx *sched.Context) { _, _ = sched.Yield().Poll(cx) },
		"exhausts its budget": func(cx *sched.Context) { proceedToTheEnd(cx) },
		"wakes itself":        func(cx *sched.Context) { cx.Waker().Wake() },
	} {
		t.Run(name, func(t *testing.T) {
			rt, fakes := startFakes(t, sched.Config{Workers: 1}.Endless())
			d := fakes[0]
			most := 10
			if name == "wakes itself" {
				most = 129 // the maximum of one tick, and one more
			}
			for range 20 {
				accepted, runs := false, 0 // only the worker uses these
				took := make(chan int, 1)
				freeTask(rt, func(cx *sched.Context) bool {
					if runs == 0 {
						d.events <- func(*sched.Context) (int, error) { accepted = true; return 1, nil }
					}
					if accepted {
						took <- runs
						return true
					}
					runs++
					giveWay(cx)
					return false
				}).Wake()
				require.Less(t, receive(t, "the driver is polled", took), most)
			}
		})
	}
}

func proceedToTheEnd(cx *sched.Context) (n int) {
	for cx.Proceed() {
		n++
	}
	return n
}

// A yield puts the task behind exactly one poll of the driver.
func TestAYieldGoesBehindOnePollOfTheDriver(t *testing.T) {
	rt, fakes := startFakes(t, sched.Config{Workers: 1}.Endless())
	d := fakes[0]
	var at []int
	var others atomic.Int64
	h := sched.Go(rt, func(cx *sched.Context) (int, error) {
		for range 5 {
			for range 10 {
				freeTask(rt, func(*sched.Context) bool { others.Add(1); return true }).Wake()
			}
			at = append(at, d.count(&d.polls))
			before := others.Load()
			if _, err := sched.Await(cx, sched.Yield()); err != nil {
				return 0, err
			}
			if ran := others.Load() - before; ran == 0 {
				t.Error("no other task ran")
			}
		}
		at = append(at, d.count(&d.polls))
		return 0, nil
	})
	_, err := wait(t, h)
	require.NoError(t, err)
	for i := range 5 {
		require.Equal(t, at[i]+1, at[i+1], "%v", at)
	}
}

// A task that is alone and wakes itself again and again goes on without being queued. Tasks in the
// global queue must still run: after at most 255 runs of that task.
func TestATaskThatKeepsWakingItselfAloneLeavesTheGlobalQueueItsTurn(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	const rounds = 50
	var longest, runs, spawnedAt int
	waiting, seen := false, 0
	ended := make(chan struct{})
	freeTask(rt, func(cx *sched.Context) bool {
		runs++
		if seen == rounds || runs-spawnedAt > 1_000_000 {
			close(ended)
			return true
		}
		if !waiting && runs-spawnedAt > 1000 { // as if from outside, so the task goes to the global queue
			waiting, spawnedAt = true, runs
			sched.Spawn(rt, sched.FutureFunc[int](func(*sched.Context) (int, error) {
				waiting, longest = false, max(longest, runs-spawnedAt)
				seen++
				return 0, nil
			})).Detach()
		}
		cx.Wake(cx.Waker())
		return false
	}).Wake()
	receive(t, "the task ends", ended)
	require.Equal(t, rounds, seen)
	require.LessOrEqual(t, longest, 256, "runs of the one before the other got its turn")
}
