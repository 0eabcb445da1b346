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
	w := cx.Waker()
	if waits(&f.place, w) || f.ready() && !cx.Proceed() || !f.m.poll(&f.place, w) {
		return struct{}{}, sched.ErrPending
	}
	return struct{}{}, nil
}

// ready reports whether a poll is likely to be the last. It waits a little for a holder
// that runs on another thread, unless others wait already.
func (f *LockFuture) ready() bool {
	switch f.place.Value.state.Load() {
	case queued:
		return false
	case granted:
		return true
	}
	for range mutexSpins {
		word := f.m.word.Load()
		if word&mutexLocked == 0 {
			return free(word)
		}
	}
	return false
}

// Cancel gives the place back, and the lock if it has that.
func (f *LockFuture) Cancel() { f.m.leave(&f.place) }
