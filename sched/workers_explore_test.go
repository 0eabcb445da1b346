//go:build explore

package sched

import explorer "github.com/suiro-go/suiro/internal/explore"

// A parkTest is a model of a runtime's workers: how they park, search and are woken. It uses the
// production code of ring, globalQueue, idleState and parker, and the steps of worker.go, park.go
// and steal.go that call them. Waits are endless.
type parkTest struct {
	x       *explorer.Execution
	order   parkingOrder
	idle    idleState
	global  globalQueue
	workers []*workerTest
	coming  int // workers that were claimed and still search
	runs    [len(ringTestTasks)]int
	body    map[int]func(w *workerTest) // the body of each task, by number
}

type workerTest struct {
	*parkTest
	index     int
	name      string
	queue     *ring
	parker    parker
	wake      bool // of the driver: kept until a wait consumes it
	inbox     int  // work for this worker only
	taken     int
	searching bool
	stuck     bool
}

// A parkingOrder lists variants of a worker's steps; most of them are wrong.
type parkingOrder struct {
	trustsParker   bool // does not check its inbox before it sleeps: this is correct
	holds          bool // holds before it blocks: this is correct
	waitsAnyhow    bool // blocks after a hold even if there was an event
	looksFirst     bool // checks the queues before it announces that it parks
	waitsAtOnce    bool // does not check
	saysSoLast     bool // stops searching, checks the queues, and only then announces that it parks
	takesTooEarly  bool // checks its inbox before it clears earlier unparks
	leavesTheRest  bool // the last searcher does not check for work that is left
	keepsSearching bool // a searcher that is claimed counts twice
}

func (o parkingOrder) looksLast() bool { return !o.looksFirst && !o.waitsAtOnce && !o.saysSoLast }

// parkingScenario has some workers, the first awake of them running at its beginning, and the
// threads that start adds.
func parkingScenario(preemptions, workers, awake int, order parkingOrder, start func(m *parkTest)) (explorer.Options, func(*explorer.Execution)) {
	return explorer.Options{Preemptions: preemptions}, func(x *explorer.Execution) {
		m := &parkTest{x: x, order: order, body: make(map[int]func(*workerTest))}
		m.idle.init(workers)
		for i := range workers {
			w := &workerTest{parkTest: m, index: i, name: "worker " + string(rune('0'+i)), queue: newRing(4)}
			m.workers = append(m.workers, w)
			asleep := i >= awake
			if asleep {
				w.parker.tryPark()
				m.idle.park(i, false)
			}
			x.Go(w.name, func() { w.loop(asleep) })
		}
		start(m)
		x.Always(m.fewSearch)
		x.Finally(m.atRest)
	}
}

func (m *parkTest) fewSearch() {
	n, most := m.idle.searching.Load(), max(1, int32(len(m.workers)/2))
	m.x.Require(0 <= n && n <= most, "%d workers search", n)
	m.x.Require(m.coming <= 1, "%d workers were woken at once", m.coming)
}

// atRest checks the end: every task that could run has run, and all workers that are not stuck are
// parked.
func (m *parkTest) atRest() {
	for i, n := range m.runs[:m.pushed()] {
		m.x.Require(n == 1, "task %d was run %d times: a wake-up was lost", i, n)
	}
	for _, w := range m.workers {
		m.x.Require(w.inbox == w.taken, "%s has not taken what is in its inbox: a wake-up was lost", w.name)
		m.x.Require(w.stuck || m.idle.isParked(w.index), "%s is not parked", w.name)
	}
	m.x.Require(m.idle.searching.Load() == 0, "%d workers search at the end", m.idle.searching.Load())
}

// pushed is the number of tasks so far, which is the number of known bodies.
func (m *parkTest) pushed() int { return len(m.body) }

// task gives a new task its body.
func (m *parkTest) task(body func(w *workerTest)) *Task {
	i := len(m.body)
	m.body[i] = body
	return &ringTestTasks[i]
}

func nothingElse(*workerTest) {}

// isStuck is the body of a task that never ends.
func isStuck(w *workerTest) {
	w.stuck = true
	explorer.Rest(w.x, "is stuck", &w.stuck, func() bool { return false }, nil)
}

// outside is a thread that is no worker and queues tasks.
func (m *parkTest) outside(name string, tasks ...*Task) {
	m.x.Go(name, func() {
		for _, t := range tasks {
			m.onGlobal("global.push", func() { m.global.push(t) })
			m.notify()
		}
	})
}

// injector is a thread with work for one worker.
func (m *parkTest) injector(name string, w *workerTest) {
	m.x.Go(name, func() {
		explorer.Step(m.x, "puts into the inbox", &w.inbox, func() { w.inbox++ })
		w.unpark()
	})
}

func (m *parkTest) notify() {
	if i := m.idle.claim(); i >= 0 {
		m.coming++
		m.workers[i].unpark()
	}
}

func (w *workerTest) unpark() {
	if w.parker.unpark() {
		explorer.Step(w.x, "driver.Wake", &w.wake, func() { w.wake = true })
	}
}

func (m *parkTest) globalLen() (n int) {
	m.onGlobal("global.len", func() { n = int(m.global.len.Load()) })
	return n
}

func globalIsShimmed() bool {
	_, shim := any(&new(globalQueue).inMu).(*explorer.Mutex)
	return shim
}

// onGlobal is a call of the global queue. It is one step unless the queue's lock is a shim.
func (m *parkTest) onGlobal(what string, f func()) {
	if globalIsShimmed() {
		f()
	} else {
		explorer.Step(m.x, what, &m.global, f)
	}
}

func (m *parkTest) workFor(w *workerTest) bool {
	if m.globalLen() > 0 {
		return true
	}
	for _, v := range m.workers {
		if v != w && v.queue.len() > 0 {
			return true
		}
	}
	return false
}

// This is the loop of a worker.

func (w *workerTest) loop(asleep bool) {
	if asleep {
		w.sleep()
	}
	for {
		w.takeInbox()
		for t := w.next(); t != nil; t = w.next() {
			w.run(t)
		}
		if t := w.poll(); t != nil {
			w.run(t)
		}
	}
}

func (w *workerTest) takeInbox() {
	take := func() {
		explorer.Step(w.x, "takes from the inbox", &w.inbox, func() { w.taken = w.inbox })
	}
	if w.order.takesTooEarly {
		take()
		w.parker.looking()
		return
	}
	w.parker.looking()
	take()
}

func (w *workerTest) run(t *Task) {
	if w.searching {
		w.found()
	}
	i := int(t.era.Load())
	w.runs[i]++
	w.x.Require(w.runs[i] == 1, "task %d is run twice", i)
	w.body[i](w)
}

// spawn queues a task on the worker that runs the caller.
func (w *workerTest) spawn(t *Task) {
	w.queue.push(t, &w.global)
	w.notify()
}

func (w *workerTest) next() *Task {
	if t := w.queue.pop(); t != nil {
		return t
	}
	if w.globalLen() > 0 {
		return w.fetch()
	}
	return nil
}

func (w *workerTest) fetch() *Task {
	n := w.queue.room()
	w.onGlobal("global.popBatch", func() { n = w.global.popBatch(w.queue, n) })
	if n == 0 {
		return nil
	}
	return w.queue.pop()
}

// poll searches or parks.
func (w *workerTest) poll() *Task {
	if !w.mayFind() {
		w.park()
		return nil
	}
	t := w.fetch()
	for i := 1; i < len(w.workers) && t == nil; i++ {
		t, _ = w.workers[(w.index+i)%len(w.workers)].queue.stealInto(w.queue)
	}
	if t == nil {
		w.x.Yield() // another worker was faster, or is about to take the task
	}
	return t
}

func (w *workerTest) mayFind() bool {
	if !w.workFor(w) {
		return false
	}
	if !w.searching {
		w.searching = w.idle.startSearch()
	}
	return w.searching
}

func (w *workerTest) found() {
	w.endSearch()
	if w.idle.stopSearch() && !w.order.leavesTheRest && w.workFor(nil) {
		w.notify()
	}
}

func (w *workerTest) endSearch() {
	if w.searching {
		w.searching = false
		w.coming = 0
	}
}

func (w *workerTest) park() {
	if !w.parker.tryPark() {
		return
	}
	must := w.order.looksFirst && w.mustNotSleep()
	searching := w.searching
	w.endSearch()
	if w.order.saysSoLast && searching {
		w.idle.stopSearch()
		searching = false
		must = w.mustNotSleep()
	}
	w.idle.park(w.index, searching)
	if w.order.looksLast() {
		must = w.mustNotSleep()
	}
	if must {
		w.leavePark()
		w.x.Yield()
		return
	}
	w.sleep()
}

func (w *workerTest) sleep() {
	if w.order.holds { // the driver ends a hold at any time, and then consumes a wake-up
		explorer.Step(w.x, "holds no longer", &w.wake, func() { w.wake = false })
		if !w.order.waitsAnyhow && !w.parker.isParked() {
			w.leavePark()
			return
		}
	}
	explorer.Rest(w.x, "waits in the driver", &w.wake, func() bool { return w.wake }, func() { w.wake = false })
	w.leavePark()
}

func (w *workerTest) leavePark() {
	if !w.idle.unpark(w.index) {
		return
	}
	if w.searching && !w.order.keepsSearching {
		w.idle.searching.Add(-1)
	}
	w.searching = true
}

func (w *workerTest) mustNotSleep() bool {
	if w.order.trustsParker {
		return w.mustSearch()
	}
	inbox := false
	explorer.Step(w.x, "inbox.len", &w.inbox, func() { inbox = w.inbox > w.taken })
	return inbox || w.mustSearch()
}

func (w *workerTest) mustSearch() bool {
	if !w.workFor(w) || !w.idle.startSearch() {
		return false
	}
	w.searching = true
	return true
}
