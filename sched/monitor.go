package sched

import (
	"sync"
	"sync/atomic"
	"time"
)

// A monitor finds workers that are stuck in a long task. Other workers then take the tasks that
// wait in their queues, and the completions that wait in their drivers.
//
// Each running worker checks for stuck workers in its tick. There is at most one check in
// checkFast, of all workers together. In case all running workers are stuck, some parked workers
// are watchers. A watcher wakes up after checkFast, and less often, down to checkSlow, while no
// worker is stuck. Two watchers are enough; the other parked workers sleep without a limit. If no
// worker has run for a while, all sleep without a limit. A worker that becomes busy then makes a
// sleeping worker a watcher before it runs anything.
//
// No stuck worker goes unnoticed. A worker that leaves its park to work first stops watching. Then
// it checks whether there is another watcher, and otherwise whether a sleeping worker can become
// one. A worker that goes to sleep first counts itself as asleep, and then checks once more whether
// a watcher is needed. So one sees the other.
type monitor struct {
	checkedAt atomic.Int64 // Runtime.Now of the last check
	watchers  atomic.Int32 // workers in state watching
	asleep    atomic.Int32 // workers in state asleep
	mu        sync.Mutex   // held by the worker that checks
}

const (
	checkFast    = time.Millisecond / 2
	checkSlow    = 10 * time.Millisecond
	stuckAfter   = time.Millisecond
	maxWatchers  = 2
	maxIdleWaits = 10 // a watcher sleeps without a limit after this many waits without a running worker
)

// A watcher is a worker's part of the monitor.
type watcher struct {
	state     atomic.Uint32 // another worker may change asleep to watching; the worker makes all other changes
	interval  time.Duration // how long the worker sleeps as a watcher
	idleWaits int           // how often in a row no other worker was running when it blocked
}

// The states of a watcher.
const (
	awake    = iota // also if there are no watchers, see parkLimit
	watching        // it checks for stuck workers when it wakes up
	asleep          // parked without a limit
)

// parkLimit is how long a worker that blocks may sleep until it must check for stuck workers. 0:
// there is no limit.
func (w *worker) parkLimit() time.Duration {
	rt, p := w.rt, &w.watcher
	if rt.alone() || rt.cfg.endless {
		return 0
	}
	if rt.idle.parked() < len(rt.workers) {
		p.idleWaits = 0
	} else {
		p.idleWaits++
	}
	if p.state.Load() == watching && p.idleWaits > maxIdleWaits {
		w.stopWatching()
	}
	if p.state.Load() == awake {
		if w.watcherNeeded() {
			p.state.Store(watching)
			rt.monitor.watchers.Add(1)
		} else {
			p.state.Store(asleep)
			rt.monitor.asleep.Add(1)
			if !w.watcherNeeded() {
				return 0
			}
			rt.monitor.makeWatcher(w)
		}
	}
	p.interval = min(checkSlow, max(checkFast, 2*p.interval))
	return p.interval
}

func (w *worker) watcherNeeded() bool {
	rt := w.rt
	return rt.monitor.watchers.Load() < maxWatchers && (w.watcher.idleWaits <= maxIdleWaits || rt.idle.parked() < len(rt.workers))
}

// makeWatcher makes a sleeping worker a watcher, and reports whether it was asleep.
func (m *monitor) makeWatcher(w *worker) bool {
	if !w.watcher.state.CompareAndSwap(asleep, watching) {
		return false
	}
	m.watchers.Add(1)
	m.asleep.Add(-1)
	return true
}

// endSleep ends a worker's sleep. If another worker has made it a watcher meanwhile, it stays one.
func (w *worker) endSleep() {
	if w.watcher.state.Load() == asleep && w.watcher.state.CompareAndSwap(asleep, awake) {
		w.rt.monitor.asleep.Add(-1)
	}
}

func (w *worker) stopWatching() {
	if w.watcher.state.Load() == watching {
		w.watcher.state.Store(awake)
		w.rt.monitor.watchers.Add(-1)
	}
}

// endPark is called when the worker has left its park and is about to run tasks or to search for
// some. The first task may block it. The work may begin some ticks after the park. Until then the
// worker may be a watcher without being parked.
func (w *worker) endPark() {
	rt := w.rt
	w.wasParked = false
	rt.slow.endRest()
	if rt.alone() {
		return
	}
	w.stopWatching()
	w.watcher.idleWaits, w.watcher.interval = 0, 0
	rt.ensureWatcher(w)
}

// ensureWatcher makes a sleeping worker other than w a watcher, if there is none.
func (rt *Runtime) ensureWatcher(w *worker) {
	if rt.monitor.asleep.Load() == 0 || rt.monitor.watchers.Load() > 0 {
		return
	}
	for _, v := range rt.workers {
		if v != w && rt.monitor.makeWatcher(v) {
			v.unpark()
			return
		}
	}
}

// maybeRescue calls rescueStuck in the tick of a running worker, unless the last check was recent.
func (w *worker) maybeRescue() {
	if w.now-time.Duration(w.rt.monitor.checkedAt.Load()) >= checkFast {
		w.rescueStuck()
	}
}

// rescueStuck takes the tasks and completions of stuck workers, and reports whether there were any.
func (w *worker) rescueStuck() (found bool) {
	rt := w.rt
	if rt.alone() || rt.cfg.endless || !rt.monitor.mu.TryLock() {
		return false
	}
	defer rt.monitor.mu.Unlock()
	rt.monitor.checkedAt.Store(int64(w.now))
	for _, v := range rt.team() {
		if v != w && !v.gone.Load() && !v.isParked() && w.now-time.Duration(v.tickAt.Load()) >= stuckAfter {
			w.watcher.interval = 0 // check again soon
			found = w.rescue(v) || found
		}
	}
	return found
}

// rescue takes from a stuck worker half of its queues, the task in its lifo slot, the unpinned
// tasks in its inbox, and its driver's completions.
func (w *worker) rescue(v *worker) (found bool) {
	if w.first == nil && (w.takeFrom(&v.queue) || w.takeFrom(&v.batch)) {
		found = true
		w.rt.notify() // during the move the tasks were visible nowhere
	}
	if t := v.lifo.Swap(nil); t != nil {
		w.enqueue(t)
		w.count.Stolen++
		found = true
	}
	if v.inbox.len.Load() > 0 {
		found = w.rescueInbox(v) || found
	}
	if r, ok := v.driver.(Rescuer); ok {
		if n := r.Rescue(&w.cx); n > 0 {
			w.count.Rescues++
			w.count.Rescued += uint64(n)
			if w.events != nil {
				w.note(EventRescue, nil, n)
			}
			found = true
		}
	}
	return found
}

// rescueInbox takes the tasks that any worker may run from a worker's inbox.
func (w *worker) rescueInbox(v *worker) (found bool) {
	var pinned taskList
	v.inbox.Lock()
	if v.gone.Load() { // its tasks are being ended, and their memory may be used again
		v.inbox.Unlock()
		return false
	}
	list := v.inbox.list
	v.inbox.list = taskList{}
	var taken taskList
	for t := list.pop(); t != nil; t = list.pop() {
		if t.home != nil {
			pinned.push(t)
		} else {
			taken.push(t)
		}
	}
	v.inbox.list = pinned
	v.inbox.len.Store(int64(pinned.len))
	v.inbox.Unlock()
	found = taken.head != nil
	w.count.Stolen += uint64(taken.len)
	w.enqueueAll(&taken)
	return found
}
