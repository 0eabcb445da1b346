//go:build explore

package sched

import explorer "github.com/suiro-go/suiro/internal/explore"

// A parkTest is the workers of a runtime with what they park, search and are
// woken by: the production code of ring, globalQueue, idleState and parker, and
// the steps of worker.go, park.go and steal.go that use them. Waits are endless.
type parkTest struct {
	x       *explorer.Execution
	order   parkingOrder
	idle    idleState
	global  globalQueue
	workers []*workerTest
	coming  int // workers that were claimed and search still
	runs    [len(ringTestTasks)]int
	body    map[int]func(w *workerTest) // of a task, by number
}

type workerTest struct {
	*parkTest
	index     int
	name      string
	queue     *ring
	parker    parker
	wake      bool // the driver's: kept until a wait takes it
	inbox     int  // things for this worker alone
	taken     int
	searching bool
	stuck     bool
}

// A parkingOrder is what a worker may do otherwise, most of it wrong.
type parkingOrder struct {
	trustsParker   bool // does not look into its inbox before it sleeps: this is right
	holds          bool // holds before it blocks: this is right
	waitsAnyhow    bool // blocks after a hold whatever has happened
	looksFirst     bool // looks at the queues before it says that it parks
	waitsAtOnce    bool // does not look
	saysSoLast     bool // stops searching, looks, and only then says that it parks
	takesTooEarly  bool // looks into its inbox before it forgets what was announced
	leavesTheRest  bool // the last searcher does not see to what is left
	keepsSearching bool // and does not say so when it is claimed meanwhile
}

func (o parkingOrder) looksLast() bool { return !o.looksFirst && !o.waitsAtOnce && !o.saysSoLast }

// parkingScenario is workers of which the first so many are awake when it
// begins, and what start adds.
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

// atRest: everything that could be run was, and who is not stuck is parked.
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

// pushed is how many tasks there have been: those whose body is known.
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

// injector is a thread that has something for one worker.
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

// onGlobal is a call of the global queue: one step unless its lock is a shim.
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

// The worker's loop.

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
		w.x.Yield() // somebody else has been quicker, or is at it
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
	if w.order.holds { // the driver ends a hold at a time of its own, and with it takes a wake
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
