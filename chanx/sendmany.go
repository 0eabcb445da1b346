package chanx

import (
	"context"

	"github.com/suiro-go/suiro/sched"
)

// SendMany sends vs in their order, and waits until there is room. It sends as many at once as
// there is room for, and these are consecutive in the channel. Values of other senders may come
// between them and the rest. It returns the number of sent values. That is len(vs) unless there is
// an error; then vs[n:] have not been sent. The errors are those of Send, also when vs is empty and
// the channel is closed. vs is not retained. It costs less than as many calls of Send, and uses one
// unit of the budget for each batch. It allocates nothing.
func (s *Sender[T]) SendMany(ctx context.Context, vs []T) (int, error) {
	f := s.getSendMany(vs)
	if f == nil {
		return 0, ErrClosed
	}
	_, err := sched.Await(ctx, f)
	return s.ch.putSendMany(f), err
}

// TrySendMany sends as many of vs as there is room for now, and returns their number. The error is
// nil if all were sent, otherwise ErrFull or ErrClosed.
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

// SendManyFuture returns a future that sends vs, see SendMany. It can be used again (see
// SendManyFuture.Reset), without an allocation.
func (s *Sender[T]) SendManyFuture(vs []T) *SendManyFuture[T] {
	f := &SendManyFuture[T]{values: vs}
	if !s.closed.Load() {
		f.ch = s.ch
	}
	return f
}

// A SendManyFuture sends values, see Sender.SendMany. It is done when all of them are in the
// channel, and its result is their number. Its error is ErrClosed. If it is abandoned before, it
// has sent the first ones, see Sent. It belongs to one task at a time, and must not be copied.
// Until it is done or abandoned, the values must not be changed.
type SendManyFuture[T any] struct {
	sendWait[T]
	values []T
	sent   int
}

var (
	_ sched.Future[int] = (*SendManyFuture[int])(nil)
	_ sched.Canceler    = (*SendManyFuture[int])(nil)
)

// Poll sends as many values as there is room for, unless other senders wait. The task is woken
// when it may send more. Each batch uses one unit of the task's budget. With an error, the result
// is that of Sent. After it was done, and a Reset, it sends other values.
func (f *SendManyFuture[T]) Poll(cx *sched.Context) (int, error) {
	if !cx.Proceed() {
		return f.sent, sched.ErrPending
	}
	if f.ch == nil {
		return f.sent, ErrClosed
	}
	return f.poll(cx, cx.Waker())
}

// poll is the second part of Poll. Each wait is for one permit, for the first value of the rest.
// The other values take room as newly arrived senders do. So a sender of one value does not wait
// for a whole batch.
func (f *SendManyFuture[T]) poll(cx *sched.Context, w sched.Waker) (int, error) {
	if len(f.values) == f.sent && !f.waits() {
		if f.ch.ring.tail.Load()&closedBit != 0 && f.sent == 0 {
			return 0, ErrClosed
		}
		return f.sent, nil
	}
	for {
		n := 0
		if !f.waits() {
			var is outcome
			n, is = f.ch.sendMany(cx, f.values[f.sent:])
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
			if n == 0 && cx != nil {
				cx.Refund()
			}
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
		if cx != nil && !cx.Proceed() { // with a receiver on another worker this loop could run for long
			return f.sent, sched.ErrPending
		}
	}
}

// Sent is the number of values that have been sent, which are the first ones. Use it after an
// error, or after the future was abandoned.
func (f *SendManyFuture[T]) Sent() int { return f.sent }

// Reset sets the values of the next Poll. Call it after the last values were sent or have failed,
// or the future was canceled.
func (f *SendManyFuture[T]) Reset(vs []T) {
	if f.ch != nil && f.waits() {
		panic("chanx: Reset of a SendManyFuture that waits: Cancel it first")
	}
	f.values, f.sent = vs, 0
}

// Cancel ends the wait. The first values, as many as Sent says, have been sent, and no more.
func (f *SendManyFuture[T]) Cancel() { f.cancel() }

// getSendMany returns an unused future; nil: the handle was closed.
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
