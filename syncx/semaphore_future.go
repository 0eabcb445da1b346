package syncx

import "github.com/suiro-go/suiro/sched"

// An AcquireFuture acquires permits of a semaphore. It is done when it has all of them, or with
// ErrClosed. Then it may be polled again to acquire the same number once more.
type AcquireFuture struct {
	s     *Semaphore
	n     uint64
	place place
}

var (
	_ sched.Future[struct{}] = (*AcquireFuture)(nil)
	_ sched.Canceler         = (*AcquireFuture)(nil)
	_ sched.Undoer           = (*AcquireFuture)(nil)

	acquires pool[AcquireFuture]
)

// AcquireFuture returns a future that acquires n permits. It enters the queue at its first poll.
func (s *Semaphore) AcquireFuture(n int) *AcquireFuture {
	return &AcquireFuture{s: s, n: count(n)}
}

// Poll implements sched.Future.
func (f *AcquireFuture) Poll(cx *sched.Context) (struct{}, error) {
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
func (f *AcquireFuture) ready() bool {
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
func (f *AcquireFuture) Cancel() { f.s.leave(&f.place) }

// Undo releases the permits: see sched.Undoer.
func (f *AcquireFuture) Undo() { f.s.release(nil, f.n) }
