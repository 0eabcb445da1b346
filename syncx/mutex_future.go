package syncx

import "github.com/suiro-go/suiro/sched"

// A LockFuture locks a Mutex. It is done when that is locked, fails never, and may be
// polled again to lock it once more.
type LockFuture struct {
	m     *Mutex
	place place
}

var (
	_ sched.Future[struct{}] = (*LockFuture)(nil)
	_ sched.Canceler         = (*LockFuture)(nil)

	locks pool[LockFuture]
)

// LockFuture is a future that locks the mutex. Its place in the queue is from its first
// poll.
func (m *Mutex) LockFuture() *LockFuture { return &LockFuture{m: m} }

// Poll makes it a future.
func (f *LockFuture) Poll(cx *sched.Context) (struct{}, error) {
	if f.place.Value.state.Load() == idle && f.m.word.Load() == 0 { // nearly always
		if !cx.Proceed() {
			return struct{}{}, sched.ErrPending
		}
		if f.m.TryLock() {
			return struct{}{}, nil
		}
	}
	return f.poll(cx)
}

func (f *LockFuture) poll(cx *sched.Context) (struct{}, error) {
	w := cx.Waker()
	if waits(&f.place, w) {
		return struct{}{}, sched.ErrPending
	}
	switch locked, mayGoOn := f.spin(cx); {
	case locked:
		return struct{}{}, nil
	case !mayGoOn:
		return struct{}{}, sched.ErrPending
	case f.m.poll(&f.place, w), f.handedOver():
		return struct{}{}, nil
	default:
		return struct{}{}, sched.ErrPending
	}
}

// spin tries to lock for a little while if the holder is likely to be at work on another
// thread: when nobody waits, or the first has been summoned and others pass the lock
// around until it comes. Whoever can be done takes from the budget; not to go on means
// that there was nothing left of it.
func (f *LockFuture) spin(cx *sched.Context) (locked, mayGoOn bool) {
	state, word := f.place.Value.state.Load(), f.m.word.Load()
	if state == queued {
		return false, true
	}
	if state == granted || word&mutexLocked == 0 {
		if !cx.Proceed() {
			return false, false
		}
		return state == idle && f.m.barge(), true
	}
	if rt := cx.Runtime(); word&(mutexWaited|mutexSummoned) == mutexWaited || rt != nil && rt.Workers() == 1 {
		return false, true
	}
	paid := false
	for range mutexSpins {
		if word := f.m.word.Load(); word&mutexLocked != 0 {
			pause()
			continue
		}
		if !paid && !cx.Proceed() {
			return false, false
		}
		paid = true
		if state == summoned { // under the queue's lock
			break
		}
		if f.m.barge() {
			return true, true
		}
	}
	return false, true
}

// handedOver waits a little for the lock if it was asked for that the holder hand it
// over: that is likely to happen soon, and dear to miss, because then nobody has the
// lock until this task runs again.
func (f *LockFuture) handedOver() bool {
	state := &f.place.Value.state
	for i := 0; i < mutexSpins && state.Load() == summoned; i++ {
		pause()
	}
	if state.Load() != granted {
		return false
	}
	settle(&f.place)
	return true
}

// Cancel gives the place back, and the lock if it has that.
func (f *LockFuture) Cancel() { f.m.leave(&f.place) }
