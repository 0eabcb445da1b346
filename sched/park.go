package sched

import "time"

// park waits in the driver until something happens: it is announced, looked
// once more everywhere where work may have appeared, and then waited. The order
// is what keeps wake-ups from being lost: see parker and idleState. If it must
// not wait it still polls: whoever keeps waking a worker must not keep it from
// its driver.
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
	call(w.rt.cfg.Hooks.WorkerPark, w.index)
	if w.rt.cfg.BusyPoll > 0 {
		n, err = w.busyWait()
	} else {
		n, err = w.sleep()
	}
	call(w.rt.cfg.Hooks.WorkerUnpark, w.index)
	w.count.Unparks++
	w.leavePark()
	w.wasParked = true
	return n, err
}

// leavePark ends the announcement. A worker that was claimed meanwhile is
// counted as searching by whoever claimed it.
func (w *worker) leavePark() {
	if w.rt.clock.paused {
		w.rt.clock.left.Add(1) // before anything else: see clock
	}
	if !w.rt.idle.unpark(w.index) {
		return
	}
	w.count.Claimed++
	if w.searching { // by itself as well
		w.rt.idle.searching.Add(-1)
	}
	w.searching = true
}

// mustNotSleep is the look after the announcement. If there is work for others
// and half of the workers search for it already, that is their business.
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

// sleep holds first, then blocks. A worker on watch interrupts that to look after
// the others.
func (w *worker) sleep() (int, error) {
	began := w.now // the tasks since then were few, or measured
	if w.mayHold() {
		hold := w.adapt.hold
		for left := hold; left > 0; left = hold - (w.rt.Now() - began) { // a hold may end early
			n, err := w.driver.Poll(&w.cx, left, true)
			if n > 0 || err != nil || !w.parker.isParked() {
				w.adapt.held(true)
				return n, err
			}
		}
		w.adapt.held(false)
	}
	w.publish()
	if w.rt.clock.paused { // the kernel gets what the last tasks have queued before time goes on
		if n, err := w.driver.Poll(&w.cx, 0, false); n > 0 || err != nil || w.hasWork() {
			return n, err
		}
	}
	for {
		limit := w.untilTimer()
		if limit == 0 || w.rt.stopping.Load() || !w.parker.isParked() {
			return w.driver.Poll(&w.cx, 0, false)
		}
		if post := w.takePost(); post > 0 && (limit < 0 || post < limit) {
			limit = post
		}
		n, err := w.driver.Poll(&w.cx, limit, false)
		w.wakeUp()
		w.now = w.rt.Now()
		w.yielded = w.now
		if n > 0 || err != nil || !w.parker.isParked() || w.rt.timers.due(w.now) || w.watch() {
			w.adapt.blocked(w.now - began)
			return n, err
		}
	}
}

// askEvery is how often a worker asks whether goroutines wait for a processor:
// under load it goes to park more often than that.
const askEvery = 50 * time.Microsecond

// longHold is what is more than that question costs: before a longer hold it is asked each time, as whoever a task has
// just started would wait for all of it. And so often it is asked in any case.
const longHold = time.Millisecond

// mayHold reports whether the worker may keep its processor while it waits: not
// with goroutines waiting for one, such as one that a task has just started,
// and not when a timer is due, for which a hold is too rough.
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

// longestWait is within what every system's time-out can say, in 32-bit milliseconds too. A
// worker that waits for a later timer looks at nothing once in a while.
const longestWait = 7 * 24 * time.Hour

// untilTimer is how long the worker may wait for the sake of timers, below 0:
// for ever. Exactly one parked worker sleeps until the next one.
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
