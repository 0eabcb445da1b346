package syncx

import "github.com/suiro-go/suiro/sched"

// An acquireFuture acquires permits of a semaphore, see Semaphore.AcquireFuture.
type acquireFuture struct {
	s     *Semaphore
	n     uint64
	place place
}

var (
	_ sched.Future[struct{}] = (*acquireFuture)(nil)
	_ sched.Canceler         = (*acquireFuture)(nil)
	_ sched.Undoer           = (*acquireFuture)(nil)

	acquires pool[acquireFuture]
)

// AcquireFuture returns a future that acquires n permits. It enters the queue at its first poll. It
// is done when it has all of them, or with ErrClosed.
func (s *Semaphore) AcquireFuture(n int) sched.Future[struct{}] {
	return &acquireFuture{s: s, n: count(n)}
}

// Poll implements sched.Future.
func (f *acquireFuture) Poll(cx *sched.Context) (struct{}, error) {
	w := cx.Waker()
	if waits(&f.place, w) || f.ready() && !cx.Proceed() {
		return struct{}{}, sched.ErrPending
	}
	ok, err := f.s.poll(&f.place, f.n, w)
	if !ok && err == nil {
		err = sched.ErrPending
	}
	return struct{}{}, err
}

// ready reports whether this poll will probably be the last one. Only such a poll uses budget.
// Otherwise a task with many futures would use up its budget before it has polled all of them, and
// run again and again.
func (f *acquireFuture) ready() bool {
	switch f.place.Value.state.Load() {
	case idle:
		word := f.s.word.Load()
		return word&semClosed != 0 || word/semPermit >= f.n
	case queued:
		return false
	default:
		return true
	}
}

// Cancel ends the wait, and gives back the permits that it has got.
func (f *acquireFuture) Cancel() { f.s.leave(&f.place) }

// Undo releases the permits: see sched.Undoer.
func (f *acquireFuture) Undo() { f.s.release(f.n) }
