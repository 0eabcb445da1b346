package sched

import (
	"slices"
	"time"
)

// Busy is a worker that runs tasks.
type Busy struct {
	Worker int           // its index
	For    time.Duration // since its tick began: about how long a task has not returned

	began time.Duration // when that was
}

// Busy returns the workers that have been within one tick for at least that long: in a task
// that computes or blocks, if least is above some milliseconds. Any goroutine may call it. It
// takes some milliseconds itself, since a worker that has slept and is being woken looks the
// same, and goes on soon. On a paused clock no time passes, so there are none.
func (rt *Runtime) Busy(least time.Duration) []Busy {
	all := rt.inOneTick(least)
	if len(all) == 0 {
		return nil
	}
	time.Sleep(busyAgain)
	return rt.stillBusy(all)
}

// busyAgain is how long a worker that was woken may take to begin its tick.
const busyAgain = 5 * time.Millisecond

// inOneTick returns the workers whose last tick began that long ago and that are not parked.
func (rt *Runtime) inOneTick(least time.Duration) (all []Busy) {
	now := rt.Now()
	for _, w := range rt.workers {
		began := time.Duration(w.tickAt.Load())
		if now-began >= least && !w.gone.Load() && !rt.idle.isParked(w.index) {
			all = append(all, Busy{Worker: w.index, For: now - began, began: began})
		}
	}
	return all
}

// stillBusy returns those that have begun no tick meanwhile.
func (rt *Runtime) stillBusy(all []Busy) []Busy {
	return slices.DeleteFunc(all, func(b Busy) bool {
		w := rt.workers[b.Worker]
		return time.Duration(w.tickAt.Load()) != b.began || w.gone.Load() || rt.idle.isParked(b.Worker)
	})
}
