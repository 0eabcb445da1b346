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
// checkAfter, of all workers together. In case all running workers are stuck, a look of the slow
// watch (slow.go) wakes a parked worker, which then checks in its tick. The looks go on while a
// worker is awake (looks.go), so no stuck worker goes unnoticed.
type monitor struct {
	checkedAt atomic.Int64 // Runtime.Now of the last check
	mu        sync.Mutex   // held by the worker that checks
}

const (
	checkAfter = time.Millisecond / 2
	stuckAfter = time.Millisecond
)

// isStuck reports whether the worker has been within one tick for so long that others should take
// its work.
func (w *worker) isStuck(now time.Duration) bool {
	return !w.gone.Load() && !w.isParked() && now-time.Duration(w.tickAt.Load()) >= stuckAfter
}

// wakeRescuer wakes a parked worker. It does so even if another worker searches, because that one
// may be stuck in a hook.
func (rt *Runtime) wakeRescuer() {
	if rt.cfg.endless {
		return
	}
	for _, w := range rt.workers {
		if w.isParked() {
			w.unpark()
			return
		}
	}
}

// maybeRescue calls rescueStuck in the tick of a running worker, unless the last check was recent.
func (w *worker) maybeRescue() {
	if w.now-time.Duration(w.rt.monitor.checkedAt.Load()) >= checkAfter {
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
		if v != w && v.isStuck(w.now) {
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
