package syncx

import "github.com/suiro-go/suiro/sched"

// A lockFuture locks a Mutex, see Mutex.LockFuture.
type lockFuture struct {
	m     *Mutex
	place place
}

var (
	_ sched.Future[struct{}] = (*lockFuture)(nil)
	_ sched.Canceler         = (*lockFuture)(nil)
	_ sched.Undoer           = (*lockFuture)(nil)

	locks pool[lockFuture]
)

// LockFuture returns a future that locks the mutex. It enters the queue at its first poll, and
// never fails.
func (m *Mutex) LockFuture() sched.Future[struct{}] { return &lockFuture{m: m} }

// Poll implements sched.Future.
func (f *lockFuture) Poll(cx *sched.Context) (struct{}, error) {
	if f.place.Value.state.Load() == idle && f.m.word.Load() == 0 { // the usual case
		if !cx.Proceed() {
			return struct{}{}, sched.ErrPending
		}
		if f.m.TryLock() {
			return struct{}{}, nil
		}
	}
	return f.poll(cx)
}

func (f *lockFuture) poll(cx *sched.Context) (struct{}, error) {
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

// spin tries to lock for a short time if the holder probably runs on another thread. That is so
// when no task waits, or when the first waiter has been summoned and others take the lock in turns
// until it runs. A poll that may succeed uses budget. mayGoOn is false if the budget is used up.
func (f *lockFuture) spin(cx *sched.Context) (locked, mayGoOn bool) {
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
		if state == summoned { // it must be taken under the queue's lock
			break
		}
		if f.m.barge() {
			return true, true
		}
	}
	return false, true
}

// handedOver waits a short time for the lock if the holder was asked to hand it over. That will
// probably happen soon. To miss it is expensive, because then no task has the lock until this one
// runs again.
func (f *lockFuture) handedOver() bool {
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

// Cancel ends the wait, and releases the lock if it has got the lock.
func (f *lockFuture) Cancel() { f.m.leave(&f.place) }

// Undo unlocks the mutex: see sched.Undoer.
func (f *lockFuture) Undo() { f.m.Unlock() }
