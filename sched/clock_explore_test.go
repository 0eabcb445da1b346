//go:build explore

package sched

import (
	"testing"

	explorer "github.com/suiro-go/suiro/internal/explore"
)

// A restTest is a model of workers of a runtime with a virtual clock. It uses the production code
// of atRest, idleState and parker, and the steps of park.go that call them. A piece of work goes
// from worker to worker. A worker that finds the runtime at rest while the work is under way has
// overtaken a wake-up. Waits are endless: at the end some worker must have found the runtime at
// rest.
type restTest struct {
	x       *explorer.Execution
	rt      *Runtime
	wake    []bool // wake-ups of the drivers
	inbox   []int
	among   int                   // number of workers that the work goes around
	hops    int                   // hops that are left
	looks   func(worker int) bool // whether the worker checks for rest; nil: all do
	advance int                   // times that the runtime was found at rest
}

func newRestTest(x *explorer.Execution, workers, hops int) *restTest {
	m := &restTest{x: x, rt: new(Runtime), wake: make([]bool, workers), inbox: make([]int, workers), among: workers, hops: hops}
	m.rt.clock.paused = true
	m.rt.idle.init(workers)
	for i := range workers {
		w := &worker{rt: m.rt, index: i}
		w.queue.init(4)
		w.batch.init(4)
		m.rt.workers = append(m.rt.workers, w)
	}
	x.Finally(func() {
		x.Require(m.hops == 0, "%d hops are left: a wake-up was lost", m.hops)
		x.Require(m.looks != nil || m.advance > 0, "nobody has seen that all are at rest")
	})
	return m
}

// start starts a worker that has parked, or one that is running.
func (m *restTest) start(i int, parked bool) {
	w := m.rt.workers[i]
	if parked {
		w.parker.tryPark()
		m.rt.idle.park(i, false)
	}
	m.x.Go("worker "+string(rune('0'+i)), func() {
		if parked {
			m.sleep(w)
		}
		for {
			w.parker.looking()
			got := 0
			explorer.Step(m.x, "takes from the inbox", &m.inbox[i], func() { got, m.inbox[i] = m.inbox[i], 0 })
			if got > 0 {
				m.hop(i)
			}
			if w.parker.tryPark() {
				m.rt.idle.park(i, false)
				m.sleep(w)
			}
		}
	})
}

// sleep is wait and leavePark.
func (m *restTest) sleep(w *worker) {
	if (m.looks == nil || m.looks(w.index)) && m.rt.atRest() {
		m.x.Require(m.hops == 0, "time went on with %d hops to go", m.hops)
		m.advance++
	}
	if w.parker.isParked() {
		explorer.Rest(m.x, "driver.Poll", &m.wake[w.index], func() bool { return m.wake[w.index] }, func() { m.wake[w.index] = false })
	}
	m.rt.clock.left.Add(1)
	m.rt.idle.unpark(w.index)
}

// hop passes the work on to the next worker.
func (m *restTest) hop(from int) {
	if m.hops--; m.hops > 0 {
		m.send((from + 1) % m.among)
	}
}

func (m *restTest) send(to int) {
	explorer.Step(m.x, "puts into the inbox", &m.inbox[to], func() { m.inbox[to]++ })
	m.unpark(to)
}

func (m *restTest) unpark(to int) {
	if m.rt.workers[to].parker.unpark() {
		explorer.Step(m.x, "driver.Wake", &m.wake[to], func() { m.wake[to] = true })
	}
}

// The work goes from one worker to the other, and each parks after it has passed the work on.
func TestExploreRestIsNotSeenWhileAWakeGoesFromWorkerToWorker(t *testing.T) {
	for _, workers := range []int{2, 3} {
		explorer.Explore(t, explorer.Options{Preemptions: 5 - workers}, func(x *explorer.Execution) {
			m := newRestTest(x, workers, 3)
			m.inbox[0] = 1
			for i := range workers {
				m.start(i, i > 0)
			}
		})
	}
}

// A worker checks two others. Each of them is parked whenever it is checked, because the other one
// has the work.
func TestExploreRestIsNotSeenByAnOnlookerWhereTwoTakeTurns(t *testing.T) {
	explorer.Explore(t, explorer.Options{Preemptions: 3}, func(x *explorer.Execution) {
		m := newRestTest(x, 3, 4)
		m.among = 2
		m.looks = func(worker int) bool { return worker == 2 }
		m.inbox[1] = 1
		m.start(0, true)
		m.start(1, false)
		m.start(2, false)
	})
}

// A goroutine that holds the clock wakes a worker, releases the clock, and makes a worker check.
func TestExploreRestIsNotSeenWhileTheClockIsHeld(t *testing.T) {
	explorer.Explore(t, explorer.Options{Preemptions: 2}, func(x *explorer.Execution) {
		m := newRestTest(x, 2, 2)
		m.rt.clock.holds.Add(1)
		m.start(0, true)
		m.start(1, true)
		x.Go("goroutine", func() {
			m.send(1)
			if m.rt.clock.holds.Add(-1) == 0 {
				m.unpark(0)
			}
		})
	})
}
