package chanx

import (
	"context"

	"github.com/suiro-go/suiro/sched"
)

// A oneshotClosedFuture is done when the receiver of a oneshot is closed: see
// OneshotSender.Closed. It is the sender itself.
type oneshotClosedFuture[T any] oneshot[T]

var (
	_ sched.Future[struct{}] = (*oneshotClosedFuture[int])(nil)
	_ sched.Canceler         = (*oneshotClosedFuture[int])(nil)
)

// Closed waits until the receiver is closed: then the value is not needed. If the sender has sent
// or is closed, Closed returns at once. Its error is that of sched.Await. It allocates nothing.
func (s *OneshotSender[T]) Closed(ctx context.Context) error {
	_, err := sched.Await(ctx, s.ClosedFuture())
	return err
}

// ClosedFuture is Closed as a future, which never fails and uses no budget. Each call returns the
// same future, since the sender belongs to one task at a time. In a Select it ends work whose
// result nobody would receive. An abandoned one leaves nothing behind, and the sender can still
// send.
func (s *OneshotSender[T]) ClosedFuture() sched.Future[struct{}] {
	return (*oneshotClosedFuture[T])(s)
}

// Poll is done if the receiver is closed. Otherwise it arranges for the task to be woken when it
// is.
func (f *oneshotClosedFuture[T]) Poll(cx *sched.Context) (struct{}, error) {
	return struct{}{}, f.await(cx.Waker())
}

func (f *oneshotClosedFuture[T]) await(w sched.Waker) error {
	for {
		state := f.state.Load()
		if state&oneshotOver != 0 {
			return nil
		}
		if state&oneshotSenderWaits != 0 {
			if f.closing == w { // only this side writes closing
				return sched.ErrPending
			}
			if !f.state.CompareAndSwap(state, state&^oneshotSenderWaits) {
				continue
			}
			state &^= oneshotSenderWaits
		}
		f.closing = w
		if f.state.CompareAndSwap(state, state|oneshotSenderWaits) {
			return sched.ErrPending
		}
	}
}

// Cancel ends the wait.
func (f *oneshotClosedFuture[T]) Cancel() { (*oneshot[T])(f).clear(oneshotSenderWaits) }
