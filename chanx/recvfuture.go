package chanx

import "github.com/suiro-go/suiro/sched"

// receive is the try that every form of receiving begins with.
func (c *bounded[T]) receive(cx *sched.Context) (T, outcome) {
	v, is := c.ring.pop()
	if is == done && (c.senders.some() || c.receivers.some()) {
		c.received(cx)
	}
	return v, is
}

// A seat is what those who wait for a value have in common.
type seat[T any] struct {
	ch   *bounded[T] // nil: of a handle that was closed
	node waiter
}

// wait waits for a value; the caller must then look once more.
func (s *seat[T]) wait(w sched.Waker) { s.ch.receivers.enlist(&s.node, w) }

// took is what a future does that has taken something out. Those that wait are told
// after it has left them, so that none of them is this one.
func (s *seat[T]) took(cx *sched.Context) {
	s.ch.receivers.leave(&s.node)
	s.ch.received(cx)
}

// ended is what a future does that has found the channel closed and drained. So will
// the others.
func (s *seat[T]) ended(cx *sched.Context) {
	s.ch.receivers.leave(&s.node)
	if s.ch.receivers.some() {
		s.ch.receivers.wakeAll(cx, told)
	}
}

// cancel gives the place up. If there was something for it, another one is told.
func (s *seat[T]) cancel() {
	if s.ch != nil && s.ch.receivers.leave(&s.node) == told {
		s.ch.passOn(nil)
	}
}

// A RecvFuture receives one value, see Receiver.RecvFuture. Its error is ErrClosed. It
// belongs to one task at a time, and must not be copied.
type RecvFuture[T any] struct{ seat[T] }

var (
	_ sched.Future[int] = (*RecvFuture[int])(nil)
	_ sched.Canceler    = (*RecvFuture[int])(nil)
)

// Poll receives a value if there is one, or has the task woken when there may be. It
// takes one unit of the task's budget. After it was done, it receives another.
func (f *RecvFuture[T]) Poll(cx *sched.Context) (T, error) {
	if !cx.Proceed() {
		return *new(T), sched.ErrPending
	}
	if f.ch == nil {
		return *new(T), ErrClosed
	}
	v, is := f.ch.ring.pop()
	if is == done {
		if f.node.Value.state.Load() != idle || f.ch.senders.some() || f.ch.receivers.some() {
			f.took(cx)
		}
		return v, nil
	}
	if is == closed {
		f.ended(cx)
		return v, ErrClosed
	}
	return f.await(cx, cx.Waker())
}

// await is the rest of Poll, for one that has found nothing.
func (f *RecvFuture[T]) await(cx *sched.Context, w sched.Waker) (T, error) {
	f.wait(w)
	return f.try(cx)
}

func (f *RecvFuture[T]) try(cx *sched.Context) (T, error) {
	switch v, is := f.ch.ring.pop(); is {
	case done:
		f.took(cx)
		return v, nil
	case closed:
		f.ended(cx)
		return v, ErrClosed
	default:
		return v, sched.ErrPending
	}
}

// Cancel gives the place among those that wait up. Nothing has been received.
func (f *RecvFuture[T]) Cancel() { f.cancel() }

// A RecvManyFuture receives some values, see Receiver.RecvManyFuture. Its error is
// ErrClosed. It belongs to one task at a time, and must not be copied.
type RecvManyFuture[T any] struct {
	seat[T]
	buf []T
}

var (
	_ sched.Future[int] = (*RecvManyFuture[int])(nil)
	_ sched.Canceler    = (*RecvManyFuture[int])(nil)
)

// Poll receives what there is, as far as buf has room, or has the task woken when there
// may be something. It takes one unit of the task's budget. After it was done, it
// receives more.
func (f *RecvManyFuture[T]) Poll(cx *sched.Context) (int, error) {
	if !cx.Proceed() {
		return 0, sched.ErrPending
	}
	if f.ch == nil {
		return 0, ErrClosed
	}
	if len(f.buf) == 0 {
		return 0, nil
	}
	n, err := f.try(cx)
	if err != sched.ErrPending {
		return n, err
	}
	f.wait(cx.Waker())
	return f.try(cx)
}

func (f *RecvManyFuture[T]) try(cx *sched.Context) (int, error) {
	switch n, is := f.ch.ring.popMany(f.buf); is {
	case done:
		f.took(cx)
		return n, nil
	case closed:
		f.ended(cx)
		return 0, ErrClosed
	default:
		return 0, sched.ErrPending
	}
}

// Cancel gives the place among those that wait up. Nothing has been received.
func (f *RecvManyFuture[T]) Cancel() { f.cancel() }
