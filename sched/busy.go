package sched

import (
	"slices"
	"time"
)

// Busy describes a worker that runs tasks.
type Busy struct {
	Worker int           // its index
	For    time.Duration // since its tick began: about how long its current task has run

	began time.Duration // when its tick began
}

// Busy returns the workers that have been within one tick for at least that long. If least is more
// than some milliseconds, these are workers in a task that computes or blocks. Any goroutine may
// call it. It takes some milliseconds itself, to leave out workers that are just being woken from
// a sleep. On a paused clock no time passes, so the result is empty.
func (rt *Runtime) Busy(least time.Duration) []Busy {
	all := rt.inOneTick(least)
	if len(all) == 0 {
		return nil
	}
	time.Sleep(busyAgain)
	return rt.stillBusy(all)
}

// busyAgain is how long a woken worker may take to begin its tick.
const busyAgain = 5 * time.Millisecond

// inOneTick returns the workers that are not parked and whose last tick began at least that long
// ago.
func (rt *Runtime) inOneTick(least time.Duration) (all []Busy) {
	now := rt.Now()
	for _, w := range rt.team() {
		began := time.Duration(w.tickAt.Load())
		if now-began >= least && !w.gone.Load() && !w.isParked() {
			all = append(all, Busy{Worker: w.index, For: now - began, began: began})
		}
	}
	return all
}

// stillBusy returns those that have begun no tick since.
func (rt *Runtime) stillBusy(all []Busy) []Busy {
	return slices.DeleteFunc(all, func(b Busy) bool {
		w := rt.team()[b.Worker]
		return time.Duration(w.tickAt.Load()) != b.began || w.gone.Load() || w.isParked()
	})
}
