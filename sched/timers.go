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
// Worker 0 sleeps until the next expiry; whichever worker finds it due in its
// tick advances the wheel. A timer that becomes the earliest is published in
// next before worker 0 is unparked, and worker 0 reads next after it has
// announced its wait, so it cannot sleep past it (see parker).
type timers struct {
	next  atomic.Int64 // Runtime.Now in nanoseconds of the next expiry, or never
	mu    sync.Mutex
	wheel *timer.Wheel
}

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
	ts.wheel.Insert(&t.entry, uint64((max(0, int64(at))+oneTick-1)/oneTick)) // rounded up: never early
	earlier := ts.publish()
	ts.mu.Unlock()
	if earlier {
		rt.workers[0].unpark()
	}
}

// StopTimer keeps the timer from waking its task, and reports whether it would
// still have.
func (rt *Runtime) StopTimer(t *Timer) bool {
	ts := &rt.timers
	ts.mu.Lock()
	defer ts.mu.Unlock()
	// next stays: if it is now too early, a worker looks for nothing once.
	return ts.wheel.Remove(&t.entry)
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
	if int64(cx.now) < ts.next.Load() || !ts.mu.TryLock() {
		return
	}
	now := uint64(int64(cx.now) / oneTick)
	for e := ts.wheel.Expire(now); e != nil; e = ts.wheel.Expire(now) {
		t := e.Value.(*Timer)
		t.fired.Store(true)
		if t.waker.task != nil {
			cx.Wake(t.waker.task)
		}
	}
	ts.publish()
	ts.mu.Unlock()
}
