package sched

import "time"

// park waits in the driver until there is an event. It announces the wait, then checks once more
// every place where work may have appeared, and then waits. This order prevents lost wake-ups: see
// parker and idleState. If it must not wait it still polls, so that frequent wake-ups do not keep
// the worker from its driver.
func (w *worker) park() (n int, err error) {
	if !w.parker.tryPark() {
		return w.driver.Poll(&w.cx, 0, false)
	}
	w.rt.idle.park(w.index, w.searching)
	w.searching = false
	if w.mustNotSleep() {
		w.leavePark()
		return w.driver.Poll(&w.cx, 0, false)
	}
	w.count.Parks++
	w.beginIdle()
	call(w.rt.cfg.Hooks.WorkerPark, w.index)
	if w.events != nil {
		w.note(EventPark, nil, 0)
	}
	if w.rt.cfg.BusyPoll > 0 {
		n, err = w.busyWait()
	} else {
		n, err = w.sleep()
	}
	if w.events != nil {
		w.note(EventUnpark, nil, 0)
	}
	call(w.rt.cfg.Hooks.WorkerUnpark, w.index)
	w.count.Unparks++
	w.leavePark()
	return n, err
}

// leavePark ends the announcement. If the worker was claimed meanwhile, the claim has counted it
// as searching.
func (w *worker) leavePark() {
	if w.rt.clock.paused {
		w.rt.clock.left.Add(1) // before anything else: see clock
	}
	if !w.rt.idle.unpark(w.index) {
		return
	}
	w.count.Claimed++
	if w.searching { // it also searched by itself
		w.rt.idle.searching.Add(-1)
	}
	w.searching = true
}

// mustNotSleep is the check after the announcement. If there is work for others, but half of the
// workers search already, the worker may sleep.
func (w *worker) mustNotSleep() bool {
	if w.inbox.len.Load() > 0 || w.rt.stopping.Load() {
		return true
	}
	if !w.rt.workFor(w) || !w.rt.idle.startSearch() {
		return false
	}
	w.searching = true
	return true
}

// sleep holds first, if holds have mostly been of use, and then blocks. Both end when there is
// something to run. Completions that wake no task, such as those of most sends, end neither.
func (w *worker) sleep() (n int, err error) {
	began := w.now // since then few tasks have run, or they were measured
	holds := w.mayHold()
	if holds {
		hold := w.adapt.hold
		for left := hold; left > 0; left = hold - (w.rt.Now() - began) { // a hold may end early
			m, err := w.await(left, true)
			n += m
			if err != nil || w.hasWork() || !w.parker.isParked() {
				w.adapt.waited(true)
				return n, err
			}
		}
		w.adapt.waited(false)
	}
	w.publish()
	w.slow.shown.Store(nil) // so that its task can be freed
	w.rt.slow.looks.beginRest()
	defer w.rt.slow.looks.endRest()
	if w.rt.clock.paused { // the kernel gets the I/O of the last tasks before time goes on
		m, err := w.driver.Poll(&w.cx, 0, false)
		if n += m; m > 0 || err != nil || w.hasWork() {
			return n, err
		}
	}
	for {
		limit := w.untilTimer()
		if limit == 0 || w.rt.stopping.Load() || !w.parker.isParked() {
			m, err := w.driver.Poll(&w.cx, 0, false)
			return n + m, err
		}
		m, err := w.await(limit, false)
		n += m
		w.now = w.rt.Now()
		w.yielded = w.now
		if err != nil || w.hasWork() || !w.parker.isParked() || w.rt.timers.due(w.now) {
			if !holds {
				w.adapt.waited(w.now-began <= w.adapt.maxHold)
			}
			return n, err
		}
	}
}

// await is a wait of the driver. The functions that it calls find a clock that has not stood still.
func (w *worker) await(limit time.Duration, hold bool) (int, error) {
	w.nowStale, w.meter.fresh = true, false
	return w.driver.Poll(&w.cx, limit, hold)
}

// askEvery is how often a worker checks whether goroutines wait for a processor. Under load it
// parks more often than that.
const askEvery = 50 * time.Microsecond

// longHold is a hold that lasts much longer than that check. The worker checks before each longer
// hold, because a goroutine that a task has just started would wait for all of it. It also checks
// at least this often.
const longHold = time.Millisecond

// mayHold reports whether the worker may keep its processor while it waits. It may not while
// goroutines wait for a processor, such as one that a task has just started. It may not when a
// timer is due soon, because a hold is not precise enough.
func (w *worker) mayHold() bool {
	if w.adapt.hold <= 0 {
		return false
	}
	if since := w.now - w.asked; since >= longHold || w.ran && (since >= askEvery || w.adapt.hold > longHold) {
		w.ran, w.asked = false, w.now
		if w.wanted() {
			return false
		}
	}
	limit := w.untilTimer()
	return limit < 0 || limit > w.adapt.hold
}

// longestWait is within the range of every system's time-outs, including 32-bit milliseconds. A
// worker that waits for a later timer wakes up once in a while and finds nothing.
const longestWait = 7 * 24 * time.Hour

// untilTimer is how long the worker may wait before the next timer. Below 0: without a limit.
// Exactly one parked worker sleeps until the next timer.
func (w *worker) untilTimer() time.Duration {
	ts := &w.rt.timers
	if w.rt.clock.paused {
		if w.advanceIfAtRest() {
			return 0
		}
		return -1
	}
	if !ts.keep(w) {
		return -1
	}
	next := ts.next.Load()
	if next == never {
		return -1
	}
	return min(max(0, time.Duration(next)-w.rt.Now()), longestWait)
}
