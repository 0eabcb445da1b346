package chanx

import "github.com/suiro-go/suiro/sched"

// A sendWait is the common part of futures that wait for room.
type sendWait[T any] struct {
	ch   *bounded[T] // nil: the handle was closed
	node waiter
}

// wait waits for a permit. done: it was granted; full: still waiting; closed: the channel is
// closed.
func (s *sendWait[T]) wait(cx *sched.Context, w sched.Waker) outcome {
	s.ch.grant(cx, &newSender{&s.node, w})
	return s.look()
}

// look returns the state of the wait. Once it no longer waits, only its owner uses it.
func (s *sendWait[T]) look() outcome {
	switch s.node.Value.state.Load() {
	case woken:
		s.node.Value.state.Store(idle)
		return done
	case refused:
		s.node.Value.state.Store(idle)
		return closed
	default:
		return full
	}
}

// waits reports whether the future waits, or its result has not been taken.
func (s *sendWait[T]) waits() bool { return s.node.Value.state.Load() != idle }

// cancel ends the wait, and gives back a permit that was granted.
func (s *sendWait[T]) cancel() {
	if s.ch != nil && s.ch.senders.leave(&s.node) == woken {
		s.ch.unreserve(nil)
	}
}

// A SendFuture sends one value, see Sender.SendFuture. It is done when the value is in the
// channel. Its error is ErrClosed. If it is abandoned before, it has sent nothing. It belongs to
// one task at a time, and must not be copied.
type SendFuture[T any] struct {
	sendWait[T]
	value T
	sent  bool
}

var (
	_ sched.Future[struct{}] = (*SendFuture[int])(nil)
	_ sched.Canceler         = (*SendFuture[int])(nil)
)

// Poll sends the value if there is room and no other sender waits. Otherwise it arranges for the
// task to be woken in its turn. A poll that is done uses one unit of the task's budget. After it
// was done, and a Reset, it sends the next value.
func (f *SendFuture[T]) Poll(cx *sched.Context) (struct{}, error) {
	if !cx.Proceed() {
		return struct{}{}, sched.ErrPending
	}
	if f.ch == nil {
		return struct{}{}, ErrClosed
	}
	if !f.waits() {
		switch f.ch.send(cx, f.value) {
		case done:
			f.sent = true
			f.value = *new(T)
			return struct{}{}, nil
		case closed:
			return struct{}{}, ErrClosed
		}
	}
	err := f.await(cx, cx.Waker())
	if err == sched.ErrPending {
		cx.Refund()
	}
	return struct{}{}, err
}

// await is the second part of Poll, for a future that has to wait or already waits.
func (f *SendFuture[T]) await(cx *sched.Context, w sched.Waker) error {
	is := f.look()
	if is == full {
		is = f.wait(cx, w)
	}
	switch is {
	case full:
		return sched.ErrPending
	case closed:
		return f.ended(ErrClosed)
	default:
		return f.ended(f.ch.sendReserved(cx, f.value))
	}
}

// getSend returns an unused future, for the methods that wait.
func (c *bounded[T]) getSend(v T) *SendFuture[T] {
	f := take[SendFuture[T]](&c.sends)
	f.ch, f.value, f.sent = c, v, false
	return f
}

func (c *bounded[T]) putSend(f *SendFuture[T]) {
	f.value = *new(T)
	c.sends.Put(f)
}

func (f *SendFuture[T]) ended(err error) error {
	if err == nil {
		f.sent = true
		f.value = *new(T)
	}
	return err
}

// Reset sets the value of the next Poll. Call it after the last value was sent or has failed, or
// the future was canceled.
func (f *SendFuture[T]) Reset(v T) {
	if f.ch != nil && f.waits() {
		panic("chanx: Reset of a SendFuture that waits: Cancel it first")
	}
	f.value, f.sent = v, false
}

// Unsent returns the value if it has not been sent. Use it after an error, or after the future was
// abandoned, for example because it lost a Select.
func (f *SendFuture[T]) Unsent() (v T, ok bool) { return f.value, !f.sent }

// Cancel ends the wait. The value has not been sent then.
func (f *SendFuture[T]) Cancel() { f.cancel() }

// A reserveFuture reserves room for one value, see Sender.ReserveFuture.
type reserveFuture[T any] struct{ sendWait[T] }

var (
	_ sched.Future[Permit[int]] = (*reserveFuture[int])(nil)
	_ sched.Canceler            = (*reserveFuture[int])(nil)
)

// Poll reserves room if there is some and no other sender waits. Otherwise it arranges for the
// task to be woken in its turn.
func (f *reserveFuture[T]) Poll(cx *sched.Context) (Permit[T], error) {
	if !cx.Proceed() {
		return Permit[T]{}, sched.ErrPending
	}
	if f.ch == nil {
		return Permit[T]{}, ErrClosed
	}
	var is outcome
	if !f.waits() {
		is = f.ch.reserve()
	} else {
		is = f.look()
	}
	if is == full {
		is = f.wait(cx, cx.Waker())
	}
	if is == full {
		cx.Refund()
		return Permit[T]{}, sched.ErrPending
	}
	return f.ch.permit(is)
}

// Cancel ends the wait.
func (f *reserveFuture[T]) Cancel() { f.cancel() }
