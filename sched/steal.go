package sched

import "time"

// stealCost is the backlog, in time, from which a worker that has nothing to do
// takes tasks that I/O has woken from another: below, moving them costs more
// than the other one needs to run them.
const stealCost = 5 * time.Microsecond

// search looks for work in the global queue and then in other workers' queues.
// The worker is counted as searching.
func (w *worker) search() {
	if !w.fetch(idleBatch) && !w.steal() {
		return
	}
	w.found()
}

// found ends the worker's search. The last searcher to find something has the
// next worker woken if there is more: see idleState.
func (w *worker) found() {
	w.searching = false
	if w.rt.idle.stopSearch() && w.rt.workFor(nil) {
		w.rt.notify()
	}
}

// mayFind reports that there is work elsewhere and that the worker may look
// for it.
func (w *worker) mayFind() bool {
	if !w.rt.workFor(w) {
		return false
	}
	if !w.searching {
		w.searching = w.rt.idle.startSearch()
	}
	return w.searching
}

// workFor reports whether there is work for others than the worker it was given
// to: in the global queue, or in the queue of one that has more than it will
// soon have run.
func (rt *Runtime) workFor(w *worker) bool {
	if rt.global.len.Load() > 0 || rt.long.len.Load() > 0 {
		return true
	}
	for _, v := range rt.workers {
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

// steal takes half of what another worker has queued. It tries a few of them
// (kcoro's bound on the scan), starting anywhere.
func (w *worker) steal() bool {
	n := len(w.rt.workers)
	at := int(w.next64() % uint64(n))
	for range min(n, w.rt.cfg.StealScan+1) {
		if v := w.rt.workers[at]; v != w {
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
		w.beUrgent() // as they may have been where they come from
	}
	w.count.Steals++
	w.count.Stolen += uint64(n)
	return true
}

// next64 is xorshift64.
func (w *worker) next64() uint64 {
	w.random ^= w.random << 13
	w.random ^= w.random >> 7
	w.random ^= w.random << 17
	return w.random
}
