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

// A sendFuture sends one value, see Sender.SendFuture.
type sendFuture[T any] struct {
	sendWait[T]
	value T
}

var (
	_ sched.Future[struct{}] = (*sendFuture[int])(nil)
	_ sched.Canceler         = (*sendFuture[int])(nil)
)

// Poll sends the value if there is room and no other sender waits. Otherwise it arranges for the
// task to be woken in its turn. A poll that is done uses one unit of the task's budget.
func (f *sendFuture[T]) Poll(cx *sched.Context) (struct{}, error) {
	if !cx.Proceed() {
		return struct{}{}, sched.ErrPending
	}
	if f.ch == nil {
		return struct{}{}, ErrClosed
	}
	if !f.waits() {
		switch f.ch.send(cx, f.value) {
		case done:
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
func (f *sendFuture[T]) await(cx *sched.Context, w sched.Waker) error {
	is := f.look()
	if is == full {
		is = f.wait(cx, w)
	}
	switch is {
	case full:
		return sched.ErrPending
	case closed:
		return ErrClosed
	default:
		return f.ch.sendReserved(cx, f.value)
	}
}

// getSend returns an unused future, for the methods that wait.
func (c *bounded[T]) getSend(v T) *sendFuture[T] {
	f := take[sendFuture[T]](&c.sends)
	f.ch, f.value = c, v
	return f
}

func (c *bounded[T]) putSend(f *sendFuture[T]) {
	f.value = *new(T)
	c.sends.Put(f)
}

// Cancel ends the wait. The value has not been sent then.
func (f *sendFuture[T]) Cancel() { f.cancel() }

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
