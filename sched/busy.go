package sched

import "time"

// Busy is a worker that runs tasks.
type Busy struct {
	Worker int           // its index
	For    time.Duration // since its tick began: about how long a task has not returned
}

// Busy returns the workers that have been within one tick for at least that long: in a task
// that computes or blocks, if least is above some milliseconds. Any goroutine may call it.
// On a paused clock no time passes, so there are none.
func (rt *Runtime) Busy(least time.Duration) (all []Busy) {
	now := rt.Now()
	for _, w := range rt.workers {
		long := now - time.Duration(w.tickAt.Load())
		if long >= least && !w.gone.Load() && !rt.idle.isParked(w.index) {
			all = append(all, Busy{w.index, long})
		}
	}
	return all
}
