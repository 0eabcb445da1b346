package chanx

import (
	"context"

	"github.com/suiro-go/suiro/internal/atomics"
	"github.com/suiro-go/suiro/sched"
)

// These are the flags of a oneshot's state. Flags are only ever set, except the two of waits. The
// receiver sets ReceiverWaits after it has stored its waker, and clears it before it stores another
// one. The sender does so with SenderWaits.
//
// No wake-up is lost: the sender's flag and the receiver's go into one word, each by a
// compare-and-swap. Either the sender's finds ReceiverWaits, and wakes the receiver; or the
// receiver's finds Sent or SenderClosed, and does not wait. Once one of these is set, the receiver
// cannot clear ReceiverWaits. So the sender reads a waker that nobody writes.
const (
	oneshotSent           = 1 << iota // the value has been stored
	oneshotSenderClosed               // the sender was closed and has sent nothing
	oneshotReceiverClosed             // the receiver was closed
	oneshotReceiverWaits              // the receiver waits; waker is to be woken
	oneshotSenderWaits                // the sender waits for the receiver's close; closing is to be woken

	oneshotOver = oneshotSent | oneshotSenderClosed | oneshotReceiverClosed
)

type oneshot[T any] struct {
	state atomics.Uint32
	taken bool // only the receiver uses it: the value was received
	waker sched.Waker
	value T

	closing sched.Waker // of a sender that waits for the receiver's close
}

// NewOneshot makes a channel for one value. It costs one allocation.
func NewOneshot[T any]() (*OneshotSender[T], *OneshotReceiver[T]) {
	o := new(oneshot[T])
	return (*OneshotSender[T])(o), (*OneshotReceiver[T])(o)
}

// A OneshotSender sends one value, or closes the channel. It belongs to one task or goroutine at a
// time.
type OneshotSender[T any] oneshot[T]

// A OneshotReceiver receives one value. It belongs to one task or goroutine at a time.
type OneshotReceiver[T any] oneshot[T]

// Send sends v. It never waits. The error is ErrClosed, and v has not been sent, if the receiver is
// closed, or this sender has already sent or is closed. With the context of the task that calls it,
// the wake-up is cheaper.
func (s *OneshotSender[T]) Send(ctx context.Context, v T) error {
	if s.state.Load()&oneshotOver != 0 {
		return ErrClosed
	}
	s.value = v // before the flag: until then the receiver does not read the value
	if !(*oneshot[T])(s).finish(ctx, oneshotSent) {
		s.value = *new(T)
		return ErrClosed
	}
	return nil
}

// Close makes the receiver fail with ErrClosed, unless a value was sent. It may be called
// after Send, by defer for example, and then does nothing.
func (s *OneshotSender[T]) Close() {
	if s.state.Load()&(oneshotSent|oneshotSenderClosed) == 0 {
		(*oneshot[T])(s).finish(context.Background(), oneshotSenderClosed)
	}
}

// IsClosed reports whether the receiver is closed. If so, the value is not needed.
func (s *OneshotSender[T]) IsClosed() bool { return s.state.Load()&oneshotReceiverClosed != 0 }

// finish sets the sender's flag. false: nobody will receive.
func (o *oneshot[T]) finish(ctx context.Context, flag uint32) bool {
	for {
		state := o.state.Load()
		if state&oneshotReceiverClosed != 0 {
			return false
		}
		if o.state.CompareAndSwap(state, state|flag) {
			if state&oneshotReceiverWaits != 0 {
				wake(sched.FromContext(ctx), o.waker)
			}
			return true
		}
	}
}

// clear clears a side's own flag, unless the other side has finished.
func (o *oneshot[T]) clear(flag uint32) {
	for {
		state := o.state.Load()
		if state&flag == 0 || state&oneshotOver != 0 || o.state.CompareAndSwap(state, state&^flag) {
			return
		}
	}
}

// Recv waits for the value and receives it. It waits as sched.Await does. The error is ErrClosed,
// or that of sched.Await. Recv allocates nothing.
func (r *OneshotReceiver[T]) Recv(ctx context.Context) (T, error) {
	if ctx != nil && sched.FromContext(ctx).Proceed() {
		if v, err := r.TryRecv(); err != ErrEmpty {
			return v, err
		}
	}
	return sched.Await(ctx, r.RecvFuture())
}

// TryRecv receives the value if it is available. The error is ErrEmpty, or ErrClosed if no value
// will come, or it has been received.
func (r *OneshotReceiver[T]) TryRecv() (v T, err error) {
	switch state := r.state.Load(); {
	case r.taken:
		return v, ErrClosed
	case state&oneshotSent != 0:
		v = r.value
		r.value, r.taken = *new(T), true
		return v, nil
	case state&oneshotOver != 0:
		return v, ErrClosed
	default:
		return v, ErrEmpty
	}
}

// Close makes later sends fail. TryRecv can still receive a value that has been sent before.
// Further calls do nothing.
func (r *OneshotReceiver[T]) Close() {
	for {
		state := r.state.Load()
		if state&oneshotOver != 0 {
			return
		}
		if r.state.CompareAndSwap(state, oneshotReceiverClosed) {
			if state&oneshotSenderWaits != 0 {
				wake(nil, r.closing)
			}
			return
		}
	}
}
