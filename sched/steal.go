package sched

import "time"

// stealCost is the least length, in time, of the queue of a worker from which an idle worker steals
// tasks that I/O has woken. With a shorter queue, to move the tasks costs more than the other
// worker needs to run them.
const stealCost = 5 * time.Microsecond

// search looks for work in the global queue and then in other workers' queues. The worker counts
// as searching.
func (w *worker) search() {
	if !w.fetch(idleBatch) && !w.steal() {
		return
	}
	w.found()
}

// found ends the worker's search. If this was the last searcher and there is more work, the next
// worker is woken: see idleState.
func (w *worker) found() {
	w.searching = false
	if w.rt.idle.stopSearch() && w.rt.workFor(nil) {
		w.rt.notify()
	}
}

// mayFind reports that there is work elsewhere and that the worker may search for it.
func (w *worker) mayFind() bool {
	if !w.rt.workFor(w) {
		return false
	}
	if !w.searching {
		w.searching = w.rt.idle.startSearch()
	}
	return w.searching
}

// workFor reports whether there is work for workers other than w: in the global queue, or in the
// queue of a worker with more than it will soon have run.
func (rt *Runtime) workFor(w *worker) bool {
	if rt.global.len.Load() > 0 || rt.long.len.Load() > 0 {
		return true
	}
	for _, v := range rt.team() {
		if v != w && v.offers() {
			return true
		}
	}
	return false
}

// offers reports whether others should take from this worker's queues.
func (w *worker) offers() bool {
	if n := w.queue.len(); n > 0 && (w.urgent.Load() || int64(n)*w.cost.Load() > int64(stealCost)) {
		return true
	}
	return w.batch.len() > 0
}

// steal takes half of another worker's queue. It tries a few workers (kcoro's bound on the scan),
// beginning with a random one.
func (w *worker) steal() bool {
	all := w.rt.team()
	n := len(all)
	at := int(w.next64() % uint64(n))
	for range min(n, w.rt.cfg.StealScan+1) {
		if v := all[at]; v != w {
			if w.takeFrom(&v.queue) || w.takeFrom(&v.batch) {
				return true
			}
		}
		at = (at + 1) % n
	}
	return false
}

func (w *worker) takeFrom(r *ring) bool {
	w.count.StealAttempts++
	t, n := r.stealInto(&w.queue)
	if t == nil {
		return false
	}
	w.first = t
	if n > 1 {
		w.beUrgent() // they may have been urgent in the other worker's queue
	}
	w.count.Steals++
	w.count.Stolen += uint64(n)
	if w.events != nil {
		w.note(EventSteal, t, n)
	}
	return true
}

// next64 is the next number of xorshift64.
func (w *worker) next64() uint64 {
	w.random ^= w.random << 13
	w.random ^= w.random >> 7
	w.random ^= w.random << 17
	return w.random
}
