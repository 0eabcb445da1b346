//go:build explore

package sched

import (
	"fmt"
	"testing"

	explorer "github.com/suiro-go/suiro/internal/explore"
)

// A stacksTest has workers whose stackful tasks move. It uses the production code of stacks. Its
// coroutines have no goroutines: nothing runs on them.
type stacksTest struct {
	*Runtime
	x    *explorer.Execution
	uses []*stackUse
}

// A stackUse is the current use of a coroutine.
type stackUse struct {
	co    *coroutine
	by    *worker // the worker that runs a task on it, or is about to leave it
	ended int     // how often it was ended
}

// newStacksTest has the given number of workers. At most half of the most free coroutines are the
// workers' own; the shared list holds the other half.
func newStacksTest(x *explorer.Execution, workers, most int) *stacksTest {
	rt := &Runtime{}
	rt.cfg.Coroutines = most
	m := &stacksTest{Runtime: rt, x: x}
	for i := range workers {
		rt.workers = append(rt.workers, &worker{rt: rt, index: i})
	}
	rt.spares.rt = rt
	rt.spares.team.Store(&rt.workers)
	rt.inLoops.Store(int32(workers))
	return m
}

// use returns the use of a coroutine, and adds new coroutines.
func (m *stacksTest) use(co *coroutine) *stackUse {
	for _, u := range m.uses {
		if u.co == co {
			return u
		}
	}
	u := &stackUse{co: co}
	m.uses = append(m.uses, u)
	if co.stop != nil {
		co.stop() // its goroutine ends without having run
	}
	co.maker = m.workers[0]
	co.maker.stacks.link(co)
	co.stop = func() {
		explorer.Step(m.x, "ends a coroutine", u, func() {
			m.x.Require(u.by == nil, "a coroutine in use was ended")
			u.ended++
		})
	}
	return u
}

// begin takes a coroutine for a task.
func (m *stacksTest) begin(w *worker) *stackUse {
	u := m.use(w.stacks.get(w))
	explorer.Step(m.x, "runs a task", u, func() {
		m.x.Require(u.by == nil, "two workers have one coroutine")
		m.x.Require(u.ended == 0, "a coroutine that has ended is used")
		u.by = w
	})
	return u
}

// finish gives the coroutine back, and then leaves it.
func (m *stacksTest) finish(w *worker, u *stackUse) {
	w.stacks.put(w, u.co)
	explorer.Step(m.x, "leaves the coroutine", u, func() { u.by = nil })
}

// each is called at the end: each coroutine is free once, or was ended once.
func (m *stacksTest) each() {
	free := make(map[*coroutine]int)
	lists := [][]*coroutine{m.stacks.free}
	for _, w := range m.workers {
		lists = append(lists, w.stacks.free)
	}
	for _, l := range lists {
		for _, co := range l {
			free[co]++
		}
	}
	own, shared := m.bounds()
	m.x.Require(len(m.stacks.free) <= shared, "the shared list has %d", len(m.stacks.free))
	for i, w := range m.workers {
		m.x.Require(len(w.stacks.free) <= own, "worker %d keeps %d", i, len(w.stacks.free))
	}
	for i, u := range m.uses {
		m.x.Require(free[u.co]+u.ended == 1, "coroutine %d is %d times free and was ended %d times", i, free[u.co], u.ended)
	}
}

// exploreStacks explores workers that begin and end tasks. Each ends tasks that another one has
// begun, if it can. So some have too many free coroutines and others too few.
func exploreStacks(t *testing.T, preemptions, workers, most, tasks int) {
	t.Helper()
	explorer.Explore(t, explorer.Options{Preemptions: preemptions, Plain: true}, func(x *explorer.Execution) {
		m := newStacksTest(x, workers, most)
		var begun []*stackUse
		for i, w := range m.workers {
			x.Go(fmt.Sprintf("worker %d", i), func() {
				for range tasks {
					u := m.begin(w)
					explorer.Step(x, "suspends it", &begun, func() { u.by = nil; begun = append(begun, u) })
				}
				for range tasks {
					var u *stackUse
					explorer.Wait(x, "resumes a task", &begun, func() bool { return len(begun) > 0 }, func() {
						u, begun = begun[0], begun[1:]
						x.Require(u.by == nil, "two workers run one task")
						u.by = w
					})
					m.finish(w, u)
				}
			})
		}
		x.Finally(m.each)
	})
}

func TestExploreTheSharedStacks(t *testing.T) {
	exploreStacks(t, 3, 2, 2, 2)
	exploreStacks(t, 2, 2, 4, 3)
	exploreStacks(t, 1, 3, 2, 2)
}

// exploreTheLastLoop explores workers that leave their loops while a spare enters its own. The
// last one to leave unwinds all tasks, once, while no worker is in its loop.
func exploreTheLastLoop(t *testing.T, preemptions, workers, spares int) {
	t.Helper()
	explorer.Explore(t, explorer.Options{Preemptions: preemptions}, func(x *explorer.Execution) {
		m := newStacksTest(x, workers, 2)
		rt := m.Runtime
		u := m.use(new(coroutine))
		rt.stacks.free = append(rt.stacks.free, u.co)
		in := 0 // workers within their loops
		stop := u.co.stop
		u.co.stop = func() {
			explorer.Step(x, "unwinds", &in, func() { x.Require(in == 0, "%d workers are in their loops", in) })
			stop()
		}
		leave := func(w *worker) {
			explorer.Step(x, "leaves its loop", &in, func() { in-- })
			w.endStacks()
		}
		for i, w := range rt.workers {
			w.inLoop = true
			in++
			x.Go(fmt.Sprintf("worker %d", i), func() { leave(w) })
		}
		for i := range spares {
			w := &worker{rt: rt, index: workers + i, spare: new(spare)}
			x.Go(fmt.Sprintf("spare %d", i), func() {
				w.enterLoop()
				if !w.inLoop { // the runtime is stopping
					w.endStacks()
					return
				}
				explorer.Step(x, "is in its loop", &in, func() { in++ })
				leave(w)
			})
		}
		x.Finally(func() {
			x.Require(u.ended == 1, "the tasks were unwound %d times", u.ended)
			x.Require(rt.inLoops.Load() == 0, "%d workers are counted", rt.inLoops.Load())
		})
	})
}

func TestExploreTheLastLoop(t *testing.T) {
	exploreTheLastLoop(t, explorer.Unbounded, 2, 1)
	exploreTheLastLoop(t, 3, 2, 2)
}
