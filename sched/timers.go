package sched

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/suiro-go/suiro/timer"
)

// timers is the runtime's one wheel, in ticks of a millisecond.
//
// One parked worker, the keeper, sleeps until the next expiry; whichever worker
// finds it due in its tick advances the wheel. A keeper that runs stays keeper
// until another worker parks and takes the office over, so whenever all are
// parked one of them is the keeper: of two that park, the one that announces its
// wait later sees that the other is parked, or that it is keeper itself.
//
// A timer that becomes the earliest is published in next before the keeper is
// unparked, and a worker reads next after it has announced its wait and looked
// who is keeper, so the keeper cannot sleep past it (see parker).
type timers struct {
	next   atomic.Int64 // Runtime.Now in nanoseconds of the next expiry, or never
	keeper atomic.Int32 // a worker's index
	mu     sync.Mutex
	wheel  *timer.Wheel
}

// keep reports whether the worker, which is parked, is the keeper.
func (ts *timers) keep(w *worker) bool {
	k := ts.keeper.Load()
	if k == int32(w.index) {
		return true
	}
	return !w.rt.idle.isParked(int(k)) && ts.keeper.CompareAndSwap(k, int32(w.index))
}

// due reports whether a timer's time has come.
func (ts *timers) due(now time.Duration) bool { return int64(now) >= ts.next.Load() }

const (
	never   = math.MaxInt64
	oneTick = int64(time.Millisecond)
)

// A Timer wakes a task at a time. The zero value is stopped. It must not be
// copied. Its methods may be called from any goroutine, but not at once.
type Timer struct {
	entry timer.Entry
	waker Waker
	fired atomic.Bool
}

// Fired reports whether the timer has come to its time since it was last
// started. The task that it wakes sees true.
func (t *Timer) Fired() bool { return t.fired.Load() }

// StartTimer has the timer wake a task once, not before the runtime's time is
// at (see Runtime.Now) and usually within 2 ms after; it replaces an earlier
// start. A time that has passed wakes the task at the next tick.
func (rt *Runtime) StartTimer(t *Timer, at time.Duration, w Waker) {
	ts := &rt.timers
	ts.mu.Lock()
	t.waker = w
	t.entry.Value = t
	t.fired.Store(false)
	ts.wheel.Insert(&t.entry, tickOf(at))
	earlier := ts.publish()
	ts.mu.Unlock()
	if !earlier {
		return
	}
	if rt.clock.paused && ts.due(rt.Now()) { // of those that wait, none is to be woken by time
		rt.lookAtClock(len(rt.workers))
		return
	}
	rt.workers[ts.keeper.Load()].unpark()
}

// StopTimer keeps the timer from waking its task, and reports whether it would
// still have.
func (rt *Runtime) StopTimer(t *Timer) bool {
	ts := &rt.timers
	ts.mu.Lock()
	defer ts.mu.Unlock()
	removed := ts.wheel.Remove(&t.entry)
	if rt.clock.paused {
		ts.publish() // nobody wakes up at what next was
	}
	// Else next stays: if it is now too early, a worker looks for nothing once.
	return removed
}

// publish sets next from the wheel and reports whether it moved closer. The
// lock is held.
func (ts *timers) publish() bool {
	next := int64(never)
	if tick, ok := ts.wheel.Next(); ok && tick < uint64(never/oneTick) {
		next = int64(tick) * oneTick
	}
	return next < ts.next.Swap(next)
}

// fire wakes the tasks whose timers are due, unless another worker is at it.
func (ts *timers) fire(cx *Context) {
	if !ts.due(cx.worker.now) || !ts.mu.TryLock() {
		return
	}
	now := uint64(int64(cx.worker.now) / oneTick)
	for e := ts.wheel.Expire(now); e != nil; e = ts.wheel.Expire(now) {
		t := e.Value.(*Timer)
		t.fired.Store(true)
		cx.Wake(t.waker)
	}
	ts.publish()
	ts.mu.Unlock()
}
