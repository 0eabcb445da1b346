package sched

import (
	"sync/atomic"
	"time"

	"github.com/suiro-go/suiro/internal/atomics"
)

// A clock is a runtime's time when that is virtual (Config.Paused). It stands still while anything
// can run, and moves to the next timer when nothing can.
//
// A worker that is about to wait checks whether the runtime is at rest, and then moves the clock.
// At rest means that at one moment no worker runs or has been told to run, no queue holds a task,
// and nobody holds the clock.
//
// The check covers one moment although it takes several steps. A worker is still if it is
// announced as parked and its parker says parked. It stops being still by an unpark or a claim,
// which others see at once. Before it can be still again it leaves its park, and that is counted
// in left. The check first sees all workers still, then sees them still once more, with left
// unchanged. So all of them were still in between, and there it looks at the queues and the holds.
//
// No timer fires early. The clock moves to the tick of the wheel's first entry, and never back. It
// moves under the wheel's lock, so no timer before that tick can be started meanwhile. A timer
// fires when the clock has reached it.
//
// No wake-up is overtaken. A task wakes others while its worker runs. A goroutine that the clock
// must wait for holds the clock, and releases it after its wake-up. If the check does not see the
// hold, the wake-up has already happened: a worker is not still, or a queue is not empty. The
// clock is not ordered with goroutines that do not hold it.
//
// No advance is forgotten. A worker that stops being still parks again later, and checks again. Of
// several workers that park, the last to announce itself sees all the others. The end of the last
// hold, and a timer that becomes the first, unpark a worker so that it checks.
type clock struct {
	paused bool         // the time is virtual; fixed by New
	now    atomic.Int64 // nanoseconds; changes under the lock of timers
	holds  atomics.Int64
	left   atomics.Uint64 // counts workers that have left their park
}

// HoldClock stops a virtual clock (see Config.Paused) from moving to the next timer until
// ReleaseClock is called as often. It is for the time during which a goroutine outside the runtime
// works for one of its tasks. A task calls HoldClock before it starts such a goroutine. The
// goroutine calls ReleaseClock after it has woken the task. Advance works despite a hold. With a
// real clock HoldClock does nothing. Any goroutine may call it.
func (rt *Runtime) HoldClock() {
	if rt.clock.paused {
		rt.clock.holds.Add(1)
	}
}

// ReleaseClock ends one HoldClock. It panics if there was none.
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

// Advance moves a virtual clock (see Config.Paused) on by d. The timers that are due then fire in
// the order of their times, all of them at the new time. Advance does not wait for the tasks that
// they wake. With d of 0 or less it does nothing. It panics if the clock is real. Any goroutine
// may call it, and so may tasks.
func (rt *Runtime) Advance(d time.Duration) {
	if !rt.clock.paused {
		panic("sched: Advance of a runtime whose clock is real: Config.Paused makes it virtual")
	}
	if rt.slow.looks.calm > 0 {
		rt.slow.look()
		defer rt.slow.look()
	}
	rt.timers.mu.Lock()
	now := rt.clock.now.Load()
	if d > 0 {
		rt.clock.now.Store(now + min(int64(d), never-1-now))
	}
	rt.timers.mu.Unlock()
	rt.lookAtClock(len(rt.workers))
}

// lookAtClock makes the given number of workers check whether timers are due or the clock may
// move. To move it one worker is enough, because it does not move while any worker is stuck.
func (rt *Runtime) lookAtClock(workers int) {
	select {
	case <-rt.started:
		if rt.startErr == nil {
			for _, w := range rt.workers[:workers] {
				w.unpark()
			}
		}
	default: // workers check when they start
	}
}

// advanceIfAtRest moves the clock to the next timer if nothing can run, and reports whether a
// timer is due now. The worker is about to wait.
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

// atRest is the check that clock describes.
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
