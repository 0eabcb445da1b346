package syncx

import "github.com/suiro-go/suiro/sched"

// An AcquireFuture acquires permits of a semaphore. It is done when it has them all, or
// with ErrClosed, and then may be polled again to acquire as many once more.
type AcquireFuture struct {
	s     *Semaphore
	n     uint64
	place place
}

var (
	_ sched.Future[struct{}] = (*AcquireFuture)(nil)
	_ sched.Canceler         = (*AcquireFuture)(nil)

	acquires pool[AcquireFuture]
)

// AcquireFuture is a future that acquires n permits. Its place in the queue is from its
// first poll.
func (s *Semaphore) AcquireFuture(n int) *AcquireFuture {
	return &AcquireFuture{s: s, n: count(n)}
}

// Poll makes it a future.
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

// ready reports whether a poll is likely to be the last: that is what takes from the
// budget. One that finds nothing takes none, or a task with many futures would use its
// budget up before it has asked all of them, and run again and again.
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

// Cancel gives the place back, and what has been acquired.
func (f *AcquireFuture) Cancel() { f.s.leave(&f.place) }
