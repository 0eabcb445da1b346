package chanx

import (
	"context"
	"sync/atomic"

	"github.com/suiro-go/suiro/sched"
)

// A Sender is a handle of the sending side of a bounded channel. Its methods may be
// called from any goroutine, and at once. It must not be copied: Clone gives others
// one of their own. When the last Sender of a channel is closed, receivers get what
// has been sent and then ErrClosed.
//
// Those who wait to send get room in the order they came, and nobody overtakes them; they
// then put their values in when they run. What one task or goroutine sends is received in
// the order it was sent.
type Sender[T any] struct {
	ch     *bounded[T]
	closed atomic.Bool
}

// Send sends v, and waits while there is no room. It is for stackful tasks (see
// sched.Await). An error says that v has not been sent: ErrClosed, or
// sched.ErrCancelled in a task that was aborted, which notices that when it has to
// wait, or when its budget is used up. It allocates nothing, waiting or not.
func (s *Sender[T]) Send(cx *sched.Context, v T) error {
	if s.closed.Load() {
		return ErrClosed
	}
	if cx.Proceed() {
		if is := s.ch.send(cx, v); is != full {
			return is.err()
		}
	}
	f := s.ch.getSend(v)
	_, err := sched.Await(cx, sched.Future[struct{}](f))
	s.ch.putSend(f)
	return err
}

// SendContext is Send for an ordinary goroutine, which waits until ctx ends at most. The
// error is then that of ctx. If there is room at once, ctx is not looked at.
func (s *Sender[T]) SendContext(ctx context.Context, v T) error {
	if s.closed.Load() {
		return ErrClosed
	}
	if is := s.ch.send(nil, v); is != full {
		return is.err()
	}
	f := s.ch.getSend(v)
	_, err := sched.Wait(ctx, sched.Future[struct{}](f))
	s.ch.putSend(f)
	return err
}

// TrySend sends v if that needs no waiting. The error is ErrFull or ErrClosed.
func (s *Sender[T]) TrySend(v T) error {
	if s.closed.Load() {
		return ErrClosed
	}
	return s.ch.send(nil, v).err()
}

// SendFuture is a future that sends v. A task that keeps it sends with it as often as
// it likes (see SendFuture.Reset) and allocates nothing.
func (s *Sender[T]) SendFuture(v T) *SendFuture[T] {
	f := &SendFuture[T]{value: v}
	if !s.closed.Load() {
		f.ch = s.ch
	}
	return f
}

// Reserve waits for room and keeps it for one value: for those who make their value
// only when it can be sent. It is for stackful tasks; errors are those of Send. It
// allocates nothing.
func (s *Sender[T]) Reserve(cx *sched.Context) (Permit[T], error) {
	if s.closed.Load() {
		return Permit[T]{}, ErrClosed
	}
	if cx.Proceed() {
		if is := s.ch.reserve(); is != full {
			return s.ch.permit(is)
		}
	}
	f := take[ReserveFuture[T]](&s.ch.reserves)
	f.ch = s.ch
	p, err := sched.Await(cx, sched.Future[Permit[T]](f))
	s.ch.reserves.Put(f)
	return p, err
}

// ReserveContext is Reserve for an ordinary goroutine, which waits until ctx ends at
// most.
func (s *Sender[T]) ReserveContext(ctx context.Context) (Permit[T], error) {
	if s.closed.Load() {
		return Permit[T]{}, ErrClosed
	}
	if is := s.ch.reserve(); is != full {
		return s.ch.permit(is)
	}
	f := take[ReserveFuture[T]](&s.ch.reserves)
	f.ch = s.ch
	p, err := sched.Wait(ctx, sched.Future[Permit[T]](f))
	s.ch.reserves.Put(f)
	return p, err
}

// TryReserve is Reserve if that needs no waiting. The error is ErrFull or ErrClosed.
func (s *Sender[T]) TryReserve() (Permit[T], error) {
	if s.closed.Load() {
		return Permit[T]{}, ErrClosed
	}
	return s.ch.permit(s.ch.reserve())
}

// ReserveFuture is a future of a permit. One that is abandoned keeps none; whoever got
// the permit has to use it or give it back.
func (s *Sender[T]) ReserveFuture() *ReserveFuture[T] {
	f := new(ReserveFuture[T])
	if !s.closed.Load() {
		f.ch = s.ch
	}
	return f
}

// Clone is another handle of the same channel, which is to be closed on its own. It
// panics if this one has been closed.
func (s *Sender[T]) Clone() *Sender[T] {
	if s.closed.Load() || !increase(&s.ch.sending) {
		panic("chanx: Clone of a closed Sender")
	}
	return &Sender[T]{ch: s.ch}
}

// Close gives the handle up: what is called on it from then on fails with ErrClosed.
// If it was the last one of its channel, sends that wait fail, and receivers are told.
// Permits that have been given can still be used, and receivers wait for them. Calls
// after the first do nothing.
func (s *Sender[T]) Close() {
	if !s.closed.Swap(true) && s.ch.sending.Add(-1) == 0 {
		s.ch.stop(shut)
	}
}

// IsClosed reports whether a send would fail with ErrClosed.
func (s *Sender[T]) IsClosed() bool { return s.closed.Load() || s.ch.ring.tail.Load()&shut != 0 }

// Len is how many values are in the channel. Others may change that at any time.
func (s *Sender[T]) Len() int { return s.ch.ring.len() }

// Cap is how many values the channel can hold.
func (s *Sender[T]) Cap() int { return int(s.ch.ring.capacity) }

// increase adds 1 to a count of handles unless none is left.
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
