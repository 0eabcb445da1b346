package chanx

import (
	"context"

	"github.com/suiro-go/suiro/sched"
)

// SendMany sends vs in their order, and waits while there is no room. It sends as many at
// once as there is room for, which get places in a row; what others send may come between
// those and the rest. Its first result is how many were sent: all, unless there is an
// error, and then vs[n:] have not been. It is for stackful tasks; errors are those of
// Send, also when vs is empty and the channel has closed. vs is not kept. It costs less
// than as many calls of Send, and a unit of the budget for each turn. It allocates nothing.
func (s *Sender[T]) SendMany(cx *sched.Context, vs []T) (int, error) {
	f := s.getSendMany(vs)
	if f == nil {
		return 0, ErrClosed
	}
	_, err := sched.Await(cx, sched.Future[int](f))
	return s.ch.putSendMany(f), err
}

// SendManyContext is SendMany for an ordinary goroutine, which waits until ctx ends at
// most.
func (s *Sender[T]) SendManyContext(ctx context.Context, vs []T) (int, error) {
	f := s.getSendMany(vs)
	if f == nil {
		return 0, ErrClosed
	}
	_, err := sched.Wait(ctx, sched.Future[int](f))
	return s.ch.putSendMany(f), err
}

// TrySendMany sends as many of vs as there is room for now, and returns how many those
// were. The error is nil if that is all of them, else ErrFull or ErrClosed.
func (s *Sender[T]) TrySendMany(vs []T) (int, error) {
	if s.IsClosed() {
		return 0, ErrClosed
	}
	if len(vs) == 0 {
		return 0, nil
	}
	n, is := s.ch.sendMany(nil, vs)
	if is == done && n < len(vs) {
		is = full
	}
	return n, is.err()
}

// SendManyFuture is a future that sends vs, see SendMany. A task that keeps it sends with
// it as often as it likes (see SendManyFuture.Reset) and allocates nothing.
func (s *Sender[T]) SendManyFuture(vs []T) *SendManyFuture[T] {
	f := &SendManyFuture[T]{values: vs}
	if !s.closed.Load() {
		f.ch = s.ch
	}
	return f
}

// A SendManyFuture sends values, see Sender.SendMany. It is done when all of them are in
// the channel, and its result is their number; its error is ErrClosed. One that is
// abandoned before has sent the first ones, see Sent. It belongs to one task at a time,
// and must not be copied. Until it is done or abandoned, the values must not be changed.
type SendManyFuture[T any] struct {
	place[T]
	values []T
	sent   int
}

var (
	_ sched.Future[int] = (*SendManyFuture[int])(nil)
	_ sched.Canceler    = (*SendManyFuture[int])(nil)
)

// Poll sends what there is room for if nobody came before, and has the task woken when
// its turn has come to send more. It takes one unit of the task's budget for each turn.
// With an error its result is what Sent says. After it was done, and a Reset, it sends others.
func (f *SendManyFuture[T]) Poll(cx *sched.Context) (int, error) {
	if !cx.Proceed() {
		return f.sent, sched.ErrPending
	}
	if f.ch == nil {
		return f.sent, ErrClosed
	}
	return f.poll(cx, cx.Waker())
}

// poll is the rest of Poll. Each turn is one permit, for the first value of the rest; what
// follows that takes room as newcomers do. So those who wait for one place do not wait
// behind all that a batch still wants.
func (f *SendManyFuture[T]) poll(cx *sched.Context, w sched.Waker) (int, error) {
	if len(f.values) == f.sent && !f.waits() {
		if f.ch.ring.tail.Load()&shut != 0 && f.sent == 0 {
			return 0, ErrClosed
		}
		return f.sent, nil
	}
	for {
		if !f.waits() {
			n, is := f.ch.sendMany(cx, f.values[f.sent:])
			f.sent += n
			if is == closed {
				return f.sent, ErrClosed
			}
			if f.sent == len(f.values) {
				return f.sent, nil
			}
		}
		is := f.look()
		if is == full {
			is = f.wait(cx, w)
		}
		switch is {
		case full:
			return f.sent, sched.ErrPending
		case closed:
			return f.sent, ErrClosed
		}
		if err := f.ch.sendReserved(cx, f.values[f.sent]); err != nil {
			return f.sent, err
		}
		if f.sent++; f.sent == len(f.values) {
			return f.sent, nil
		}
		if cx != nil && !cx.Proceed() { // with a receiver on another worker this could go on for long
			return f.sent, sched.ErrPending
		}
	}
}

// Sent is how many of the values have been sent, the first ones: for those who abandoned
// the future, or got an error.
func (f *SendManyFuture[T]) Sent() int { return f.sent }

// Reset has the next Poll send vs: after the last values were sent, or failed to be, or
// the future was cancelled.
func (f *SendManyFuture[T]) Reset(vs []T) {
	if f.ch != nil && f.waits() {
		panic("chanx: Reset of a SendManyFuture that waits: Cancel it first")
	}
	f.values, f.sent = vs, 0
}

// Cancel gives the place among those that wait up. What Sent says has been sent, and
// nothing else.
func (f *SendManyFuture[T]) Cancel() { f.cancel() }

// getSendMany is a future that was not in use; nil: the handle was closed.
func (s *Sender[T]) getSendMany(vs []T) *SendManyFuture[T] {
	if s.closed.Load() {
		return nil
	}
	f := take[SendManyFuture[T]](&s.ch.sendBatches)
	f.ch, f.values, f.sent = s.ch, vs, 0
	return f
}

func (c *bounded[T]) putSendMany(f *SendManyFuture[T]) int {
	n := f.sent
	f.values = nil
	c.sendBatches.Put(f)
	return n
}
