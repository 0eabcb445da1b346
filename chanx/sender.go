package chanx

import (
	"context"
	"sync/atomic"

	"github.com/suiro-go/suiro/sched"
)

// A Sender is a handle of the sending side of a bounded channel. Its methods may be called from
// any goroutine, and concurrently. It must not be copied: Clone makes another handle. When the
// last Sender of a channel is closed, receivers get the remaining values and then ErrClosed.
//
// Waiting senders get room in the order of their arrival, and nobody overtakes them. They put
// their values in when they run. The values of one task or goroutine are received in the order in
// which it sent them.
type Sender[T any] struct {
	ch     *bounded[T]
	closed atomic.Bool
}

// Send sends v, and waits until there is room. It waits as sched.Await does. With an error v has
// not been sent. The error is ErrClosed, or that of sched.Await. An abort and the end of ctx are
// noticed when the call has to wait, or when the budget of its task is used up. Send allocates
// nothing, waiting or not.
func (s *Sender[T]) Send(ctx context.Context, v T) error {
	if s.closed.Load() {
		return ErrClosed
	}
	cx := sched.FromContext(ctx)
	if ctx != nil && cx.Proceed() {
		if is := s.ch.send(cx, v); is != full {
			return is.err()
		}
	}
	f := s.ch.getSend(v)
	_, err := sched.Await(ctx, f)
	s.ch.putSend(f)
	return err
}

// TrySend sends v if there is room. The error is ErrFull or ErrClosed.
func (s *Sender[T]) TrySend(v T) error {
	if s.closed.Load() {
		return ErrClosed
	}
	return s.ch.send(nil, v).err()
}

// SendFuture returns a future that sends v once. It is done when the value is in the channel. Its
// error is ErrClosed. If it is abandoned before it was done, it has sent nothing. It costs an
// allocation: a stackless task calls TrySend first.
func (s *Sender[T]) SendFuture(v T) sched.Future[struct{}] {
	f := &sendFuture[T]{value: v}
	if !s.closed.Load() {
		f.ch = s.ch
	}
	return f
}

// Reserve waits for room and reserves it for one value. Use it to make a value only when it can be
// sent. Its errors are those of Send. It allocates nothing.
func (s *Sender[T]) Reserve(ctx context.Context) (Permit[T], error) {
	if s.closed.Load() {
		return Permit[T]{}, ErrClosed
	}
	if ctx != nil && sched.FromContext(ctx).Proceed() {
		if is := s.ch.reserve(); is != full {
			return s.ch.permit(is)
		}
	}
	f := take[reserveFuture[T]](&s.ch.reserves)
	f.ch = s.ch
	p, err := sched.Await(ctx, f)
	s.ch.reserves.Put(f)
	return p, err
}

// TryReserve is Reserve without waiting. The error is ErrFull or ErrClosed.
func (s *Sender[T]) TryReserve() (Permit[T], error) {
	if s.closed.Load() {
		return Permit[T]{}, ErrClosed
	}
	return s.ch.permit(s.ch.reserve())
}

// ReserveFuture returns a future of a permit, which must be used or released. It can be used again
// for further permits. Its error is ErrClosed. An abandoned future reserves nothing.
func (s *Sender[T]) ReserveFuture() sched.Future[Permit[T]] { return s.reserveFuture() }

func (s *Sender[T]) reserveFuture() *reserveFuture[T] {
	f := new(reserveFuture[T])
	if !s.closed.Load() {
		f.ch = s.ch
	}
	return f
}

// Clone returns another handle of the same channel, which must be closed separately. It panics if
// this one has been closed.
func (s *Sender[T]) Clone() *Sender[T] {
	if s.closed.Load() || !increase(&s.ch.sending) {
		panic("chanx: Clone of a closed Sender")
	}
	return &Sender[T]{ch: s.ch}
}

// Close closes the handle: later calls on it fail with ErrClosed. If it was the last one of its
// channel, waiting sends fail, and receivers are woken. Permits that have been given can still be
// used, and receivers wait for them. Further calls do nothing.
func (s *Sender[T]) Close() {
	if !s.closed.Swap(true) && s.ch.sending.Add(-1) == 0 {
		s.ch.stop(closedBit)
	}
}

// IsClosed reports whether a send would fail with ErrClosed.
func (s *Sender[T]) IsClosed() bool { return s.closed.Load() || s.ch.ring.tail.Load()&closedBit != 0 }

// increase adds 1 to a count of handles unless the count is 0.
func increase(handles *atomic.Int64) bool {
	for {
		n := handles.Load()
		if n == 0 {
			return false
		}
		if handles.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// err is the error of a send.
func (o outcome) err() error {
	switch o {
	case done:
		return nil
	case full:
		return ErrFull
	default:
		return ErrClosed
	}
}
