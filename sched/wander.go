package sched

import "sync"

// A wander makes each task that may move run on another worker than in its last run. A task that
// is woken in its own run is queued, and does not run again at once (see runsOn). It is for tests:
// testmode.Wander.
type wander struct {
	mu   sync.Mutex
	last map[*Task]*worker // the worker that last ran the task
}

// passesOn gives a task to another worker if this one has also made the task's last run.
func (w *worker) passesOn(t *Task) bool {
	rt := w.rt
	if t.home != nil || len(rt.workers) == 1 {
		return false
	}
	rt.wander.mu.Lock()
	again := rt.wander.last[t] == w
	rt.wander.last[t] = w
	rt.wander.mu.Unlock()
	if again {
		rt.worker(w.index + 1).inject(t)
	}
	return again
}
