package sched

import (
	"sync/atomic"
	"time"

	"github.com/suiro-go/suiro/internal/atomics"
)

// A clock is a runtime's time when that is virtual (Config.Paused): it stands still
// while anything can run, and goes to the next timer when nothing can.
//
// Whichever worker is about to wait looks whether the runtime is at rest, and then
// moves the clock. At rest means that at one moment no worker runs or has been told
// to, no queue holds a task, and nobody holds the clock.
//
// It is one moment although the look is not. A worker is still if it is announced as
// parked and its parker says parked. It ceases to be by an unpark or a claim, which
// others see at once, and before it is still again it has left its park, which
// counts in left. So if all workers are seen still, then all once more, and nobody has
// left meanwhile, every one of them was still between the two. The queues and the
// holds are looked at there.
//
// No timer fires early: the clock is moved to the tick of the wheel's first entry
// and never back, under the wheel's lock, so that none can be started before that tick
// meanwhile; and a timer fires when the clock has reached it.
//
// No wake is overtaken. A task wakes others while its worker runs. Whoever is to be
// waited for besides holds the clock, and lets go of it after its wake: if the hold is
// not seen, the wake has come before, and has left a worker that is not still, or a
// queue that is not empty. What other goroutines do has no order with the clock
// unless they hold it.
//
// No advance is forgotten. Whenever a worker ceases to be still it parks again, and
// looks again; of several that park, the last to announce itself sees all the others.
// The end of the last hold, and a timer that becomes the first, unpark a worker to
// have it look.
type clock struct {
	paused bool         // the time is virtual; fixed by New
	now    atomic.Int64 // nanoseconds; changes under the lock of timers
	holds  atomics.Int64
	left   atomics.Uint64 // ends of workers' parks
}

// HoldClock keeps a virtual clock (see Config.Paused) from going to the next timer
// until as many calls of ReleaseClock: for the time during which a goroutine that the
// runtime does not know of works for its tasks. A task that starts such a goroutine
// calls it before, and the goroutine ReleaseClock after it has woken the task. Advance
// goes on to work. With a real clock it does nothing. Any goroutine.
func (rt *Runtime) HoldClock() {
	if rt.clock.paused {
		rt.clock.holds.Add(1)
	}
}

// ReleaseClock takes back one HoldClock. It panics if there was none.
func (rt *Runtime) ReleaseClock() {
	if !rt.clock.paused {
		return
	}
	switch n := rt.clock.holds.Add(-1); {
	case n < 0:
		rt.clock.holds.Add(1)
		panic("sched: ReleaseClock without HoldClock")
	case n == 0:
		rt.lookAtClock(1)
	}
}

// Advance moves a virtual clock (see Config.Paused) on by d, and has the timers fire
// that are due then, in the order of their times, all of them at the new time. It
// does not wait for what they wake. d of 0 or less does nothing. It panics if the
// clock is real. Any goroutine, tasks included.
func (rt *Runtime) Advance(d time.Duration) {
	if !rt.clock.paused {
		panic("sched: Advance of a runtime whose clock is real: Config.Paused makes it virtual")
	}
	rt.timers.mu.Lock()
	now := rt.clock.now.Load()
	if d > 0 {
		rt.clock.now.Store(now + min(int64(d), never-1-now))
	}
	rt.timers.mu.Unlock()
	rt.lookAtClock(len(rt.workers))
}

// lookAtClock has so many workers look whether timers are due or the clock may move.
// For the latter one is enough, because it moves for nobody while any is stuck.
func (rt *Runtime) lookAtClock(workers int) {
	select {
	case <-rt.started:
		if rt.startErr == nil {
			for _, w := range rt.workers[:workers] {
				w.unpark()
			}
		}
	default: // they look when they start
	}
}

// advanceIfAtRest moves the clock to the next timer if nothing can run, and reports
// whether one is due now. The worker is about to wait.
func (w *worker) advanceIfAtRest() (due bool) {
	rt := w.rt
	ts := &rt.timers
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.due(rt.Now()) {
		return true
	}
	tick, ok := ts.wheel.Earliest()
	if !ok || tick >= uint64(never/oneTick) || !rt.atRest() {
		return false
	}
	rt.clock.now.Store(int64(tick) * oneTick)
	ts.publish()
	return true
}

// atRest is the look: see clock.
func (rt *Runtime) atRest() bool {
	left := rt.clock.left.Load()
	return rt.allStill() && rt.nothingQueued() && rt.clock.holds.Load() == 0 && rt.allStill() && rt.clock.left.Load() == left
}

func (rt *Runtime) allStill() bool {
	for _, w := range rt.workers {
		if !rt.idle.isParked(w.index) || !w.parker.isParked() {
			return false
		}
	}
	return true
}

func (rt *Runtime) nothingQueued() bool {
	if rt.global.len.Load() > 0 || rt.long.len.Load() > 0 {
		return false
	}
	for _, w := range rt.workers {
		if w.inbox.len.Load() > 0 || w.queue.len() > 0 || w.batch.len() > 0 || w.lifo.Load() != nil {
			return false
		}
	}
	return true
}
