package chanx

import (
	"context"

	"github.com/suiro-go/suiro/internal/atomics"
	"github.com/suiro-go/suiro/sched"
)

// The state of a oneshot. Flags are only ever set, but for listening, which the receiver
// sets when the waker is in place, and takes back before it puts another one there.
//
// No wake-up is lost: the sender's flag and the receiver's go into one word, each by a
// compare-and-swap. Either the sender's finds listening, and wakes; or the receiver's
// finds sent or gone, and does not wait. Once one of these is set the receiver cannot
// take listening back, so the sender reads a waker that nobody writes.
const (
	oneshotSent      = 1 << iota // the value is there
	oneshotGone                  // the sender was closed and has sent nothing
	oneshotDeaf                  // the receiver was closed
	oneshotListening             // waker is to be woken
)

type oneshot[T any] struct {
	state atomics.Uint32
	taken bool // the receiver's: the value was received
	waker sched.Waker
	value T
}

// NewOneshot makes a channel for one value. Its cost is one allocation.
func NewOneshot[T any]() (*OneshotSender[T], *OneshotReceiver[T]) {
	o := new(oneshot[T])
	return (*OneshotSender[T])(o), (*OneshotReceiver[T])(o)
}

// A OneshotSender sends one value, or closes the channel. It belongs to one task or
// goroutine at a time.
type OneshotSender[T any] oneshot[T]

// A OneshotReceiver receives one value. It is a future of that, and may be polled by one
// task and later by another: only the newest is woken. It belongs to one task or
// goroutine at a time.
type OneshotReceiver[T any] oneshot[T]

var (
	_ sched.Future[int] = (*OneshotReceiver[int])(nil)
	_ sched.Canceler    = (*OneshotReceiver[int])(nil)
)

// Send sends v. It never waits. The error is ErrClosed, and v has not been sent, if the
// receiver is closed, or this sender has sent before or is. cx is that of the running
// task, with which the wake-up costs less, or nil outside of tasks.
func (s *OneshotSender[T]) Send(cx *sched.Context, v T) error {
	if s.state.Load()&(oneshotSent|oneshotGone|oneshotDeaf) != 0 {
		return ErrClosed
	}
	s.value = v // before the flag: until then the receiver does not look
	if !(*oneshot[T])(s).finish(cx, oneshotSent) {
		s.value = *new(T)
		return ErrClosed
	}
	return nil
}

// Close has the receiver fail with ErrClosed, unless a value was sent. It may be called
// after Send in any case, by defer for example, and then does nothing.
func (s *OneshotSender[T]) Close() {
	if s.state.Load()&(oneshotSent|oneshotGone) == 0 {
		(*oneshot[T])(s).finish(nil, oneshotGone)
	}
}

// IsClosed reports whether the receiver is closed: the value need not be made.
func (s *OneshotSender[T]) IsClosed() bool { return s.state.Load()&oneshotDeaf != 0 }

// finish sets the sender's flag; false: nobody will receive.
func (o *oneshot[T]) finish(cx *sched.Context, flag uint32) bool {
	for {
		state := o.state.Load()
		if state&oneshotDeaf != 0 {
			return false
		}
		if o.state.CompareAndSwap(state, state|flag) {
			if state&oneshotListening != 0 {
				wake(cx, o.waker)
			}
			return true
		}
	}
}

// Poll receives the value if it is there, or has the task woken when it is. The error is
// ErrClosed if none will come, or it has been received. It takes one unit of the task's
// budget.
func (r *OneshotReceiver[T]) Poll(cx *sched.Context) (T, error) {
	if !cx.Proceed() { // or a loop that selects this and others would never get to those
		return *new(T), sched.ErrPending
	}
	if v, err := r.TryRecv(); err != ErrEmpty {
		return v, err
	}
	return r.await(cx.Waker())
}

// await is the rest of Poll, for one that has found nothing.
func (r *OneshotReceiver[T]) await(w sched.Waker) (T, error) {
	state := r.state.Load()
	if state&oneshotListening != 0 {
		if r.waker == w { // which only this side writes
			return *new(T), sched.ErrPending
		}
		if !r.state.CompareAndSwap(state, state&^oneshotListening) {
			return r.TryRecv() // the sender has finished: there is nobody else
		}
		state &^= oneshotListening
	}
	if state != 0 {
		return r.TryRecv()
	}
	r.waker = w
	if !r.state.CompareAndSwap(0, oneshotListening) {
		return r.TryRecv()
	}
	return *new(T), sched.ErrPending
}

// Cancel has nobody woken any more. The value is not lost: the receiver can be polled
// again, as one that has lost a Select usually is.
func (r *OneshotReceiver[T]) Cancel() {
	if state := r.state.Load(); state&oneshotListening != 0 {
		r.state.CompareAndSwap(state, state&^oneshotListening) // or the sender has finished
	}
}

// Recv receives the value, and waits for it. It is for stackful tasks (see sched.Await).
// The error is ErrClosed, or sched.ErrCancelled in a task that was aborted. It allocates
// nothing.
func (r *OneshotReceiver[T]) Recv(cx *sched.Context) (T, error) {
	if cx.Proceed() {
		if v, err := r.TryRecv(); err != ErrEmpty {
			return v, err
		}
	}
	return sched.Await(cx, sched.Future[T](r))
}

// RecvContext is Recv for an ordinary goroutine, which waits until ctx ends at most.
func (r *OneshotReceiver[T]) RecvContext(ctx context.Context) (T, error) {
	if v, err := r.TryRecv(); err != ErrEmpty {
		return v, err
	}
	return sched.Wait(ctx, sched.Future[T](r))
}

// RecvFuture is the receiver itself, for those who look for a method of that name.
func (r *OneshotReceiver[T]) RecvFuture() *OneshotReceiver[T] { return r }

// TryRecv receives the value if it is there. The error is ErrEmpty, or ErrClosed if none
// will come, or it has been received.
func (r *OneshotReceiver[T]) TryRecv() (v T, err error) {
	switch state := r.state.Load(); {
	case r.taken:
		return v, ErrClosed
	case state&oneshotSent != 0:
		v = r.value
		r.value, r.taken = *new(T), true
		return v, nil
	case state != 0 && state != oneshotListening:
		return v, ErrClosed
	default:
		return v, ErrEmpty
	}
}

// Close has a send fail from then on. A value that has been sent by then can still be
// received, with TryRecv. Calls after the first do nothing.
func (r *OneshotReceiver[T]) Close() {
	for {
		state := r.state.Load()
		if state&^oneshotListening != 0 || r.state.CompareAndSwap(state, oneshotDeaf) {
			return
		}
	}
}
