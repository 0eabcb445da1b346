package sched

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/suiro-go/suiro/timer"
)

// timers is the timing wheel of the runtime, in ticks of a millisecond.
//
// One parked worker, the keeper, sleeps until the next timer. A worker whose tick finds a timer
// due advances the wheel. A keeper that runs stays the keeper until another worker parks and
// becomes the keeper. So whenever all workers are parked, one of them is the keeper. Of two
// workers that park, the later one to announce its wait sees that the other is parked, or that it
// is itself the keeper.
//
// A timer that becomes the earliest is published in next before the keeper is unparked. A worker
// reads next after it has announced its wait and checked keeper. So the keeper cannot sleep past
// the timer (see parker).
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

// due reports whether a timer is due.
func (ts *timers) due(now time.Duration) bool { return int64(now) >= ts.next.Load() }

const (
	never   = math.MaxInt64
	oneTick = int64(time.Millisecond)
)

// A Timer wakes a task at a time. The zero value is stopped. It must not be copied. Its methods
// may be called from any goroutine, but not concurrently.
type Timer struct {
	entry timer.Entry
	waker Waker
	fired atomic.Bool
}

// Fired reports whether the timer has expired since it was last started. The task that it wakes
// sees true.
func (t *Timer) Fired() bool { return t.fired.Load() }

// StartTimer makes the timer wake a task once, not before the runtime's time is at (see
// Runtime.Now), and usually within 2 ms after. It replaces an earlier start. If the time has
// passed, the task is woken at the next tick.
func (rt *Runtime) StartTimer(t *Timer, at time.Duration, w Waker) {
	ts := &rt.timers
	ts.mu.Lock()
	t.waker = w
	t.entry.Value = t
	t.fired.Store(false)
	ts.wheel.Insert(&t.entry, tickOf(at))
	earlier := ts.publish()
	ts.mu.Unlock()
	if earlier {
		rt.earlier()
	}
}

// startEntry starts the entry of a FuncTimer, and reports whether the entry was already pending.
func (rt *Runtime) startEntry(e *timer.Entry, at time.Duration) (was bool) {
	ts := &rt.timers
	ts.mu.Lock()
	was = e.Pending()
	ts.wheel.Insert(e, tickOf(at))
	earlier := ts.publish()
	ts.mu.Unlock()
	if earlier {
		rt.earlier()
	}
	return was
}

// earlier tells a worker that there is a new earliest timer.
func (rt *Runtime) earlier() {
	ts := &rt.timers
	if rt.clock.paused && ts.due(rt.Now()) { // a virtual clock wakes no waiting worker by time
		rt.lookAtClock(len(rt.workers))
		return
	}
	rt.workers[ts.keeper.Load()].unpark()
}

// StopTimer prevents the timer from waking its task, and reports whether it did.
func (rt *Runtime) StopTimer(t *Timer) bool { return rt.stopEntry(&t.entry) }

func (rt *Runtime) stopEntry(e *timer.Entry) bool {
	ts := &rt.timers
	ts.mu.Lock()
	defer ts.mu.Unlock()
	removed := ts.wheel.Remove(e)
	if rt.clock.paused {
		ts.publish() // no worker wakes up at the old value of next
	}
	// Otherwise next stays. If it is now too early, a worker wakes up once for nothing.
	return removed
}

// publish sets next from the wheel, and reports whether it is earlier than before. The lock is
// held.
func (ts *timers) publish() bool {
	next := int64(never)
	if tick, ok := ts.wheel.Next(); ok && tick < uint64(never/oneTick) {
		next = int64(tick) * oneTick
	}
	return next < ts.next.Swap(next)
}

// fire wakes the tasks whose timers are due, unless another worker is doing so.
func (ts *timers) fire(cx *Context) {
	if !ts.due(cx.worker.now) || !ts.mu.TryLock() {
		return
	}
	now := uint64(int64(cx.worker.now) / oneTick)
	for e := ts.wheel.Expire(now); e != nil; e = ts.wheel.Expire(now) {
		cx.worker.count.TimersFired++
		switch t := e.Value.(type) {
		case *Timer:
			t.fired.Store(true)
			cx.Wake(t.waker)
		case *FuncTimer:
			t.fires()
		}
	}
	ts.publish()
	ts.mu.Unlock()
}
