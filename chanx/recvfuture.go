package chanx

import "github.com/suiro-go/suiro/sched"

// receive is the first attempt of every form of receiving.
func (c *bounded[T]) receive(cx *sched.Context) (T, outcome) {
	v, is := c.ring.pop()
	if is == done && (c.senders.some() || c.receivers.some()) {
		c.received(cx)
	}
	return v, is
}

// A recvWait is the common part of futures that wait for a value.
type recvWait[T any] struct {
	ch   *bounded[T] // nil: the handle was closed
	node waiter
}

// wait begins or continues the wait for a value. The caller must then try once more.
func (s *recvWait[T]) wait(w sched.Waker) { s.ch.receivers.enlist(&s.node, w) }

// took is called by a future that has taken a value. The future first leaves the queue, so that it
// does not wake itself.
func (s *recvWait[T]) took(cx *sched.Context) {
	s.ch.receivers.leave(&s.node)
	s.ch.received(cx)
}

// ended is called by a future that has found the channel closed and drained. It wakes the other
// waiters, which will find the same.
func (s *recvWait[T]) ended(cx *sched.Context) {
	s.ch.receivers.leave(&s.node)
	if s.ch.receivers.some() {
		s.ch.receivers.wakeAll(cx, woken)
	}
}

// cancel ends the wait. If the future has been woken for a value, another waiter is woken.
func (s *recvWait[T]) cancel() {
	if s.ch != nil && s.ch.receivers.leave(&s.node) == woken {
		s.ch.passOn(nil)
	}
}

// A recvFuture receives one value, see Receiver.RecvFuture.
type recvFuture[T any] struct{ recvWait[T] }

var (
	_ sched.Future[int] = (*recvFuture[int])(nil)
	_ sched.Canceler    = (*recvFuture[int])(nil)
)

// Poll receives a value if one is available. Otherwise it arranges for the task to be woken when
// one may be.
func (f *recvFuture[T]) Poll(cx *sched.Context) (T, error) {
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
	v, err := f.await(cx, cx.Waker())
	if err == sched.ErrPending {
		cx.Refund()
	}
	return v, err
}

// await is the second part of Poll, after it has found no value.
func (f *recvFuture[T]) await(cx *sched.Context, w sched.Waker) (T, error) {
	f.wait(w)
	return f.try(cx)
}

func (f *recvFuture[T]) try(cx *sched.Context) (T, error) {
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

// Cancel ends the wait. Nothing has been received.
func (f *recvFuture[T]) Cancel() { f.cancel() }

// A recvManyFuture receives some values, see Receiver.RecvManyFuture.
type recvManyFuture[T any] struct {
	recvWait[T]
	buf []T
}

var (
	_ sched.Future[int] = (*recvManyFuture[int])(nil)
	_ sched.Canceler    = (*recvManyFuture[int])(nil)
)

// Poll receives values until buf is full or none is left. If there are none, it arranges for the
// task to be woken when there may be some.
func (f *recvManyFuture[T]) Poll(cx *sched.Context) (int, error) {
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
	if n, err = f.try(cx); err == sched.ErrPending {
		cx.Refund()
	}
	return n, err
}

func (f *recvManyFuture[T]) try(cx *sched.Context) (int, error) {
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

// Cancel ends the wait. Nothing has been received.
func (f *recvManyFuture[T]) Cancel() { f.cancel() }
