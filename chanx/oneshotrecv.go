package chanx

import "github.com/suiro-go/suiro/sched"

// A oneshotRecvFuture receives the value of a oneshot, see OneshotReceiver.RecvFuture. It is the
// receiver itself.
type oneshotRecvFuture[T any] oneshot[T]

var (
	_ sched.Future[int] = (*oneshotRecvFuture[int])(nil)
	_ sched.Canceler    = (*oneshotRecvFuture[int])(nil)
)

// RecvFuture is Recv as a future. Each call returns the same future, since the receiver belongs to
// one task at a time. The receiver may move to another task: only the task that polled it last is
// woken. Its error is ErrClosed. An abandoned future has taken nothing. It can be polled again, for
// example after it has lost a Select.
func (r *OneshotReceiver[T]) RecvFuture() sched.Future[T] { return (*oneshotRecvFuture[T])(r) }

func (f *oneshotRecvFuture[T]) receiver() *OneshotReceiver[T] { return (*OneshotReceiver[T])(f) }

// Poll receives the value if it is available. Otherwise the task is woken when it is.
func (f *oneshotRecvFuture[T]) Poll(cx *sched.Context) (T, error) {
	if !cx.Proceed() { // otherwise a loop that selects this one and others might never poll the others
		return *new(T), sched.ErrPending
	}
	if v, err := f.receiver().TryRecv(); err != ErrEmpty {
		return v, err
	}
	v, err := f.await(cx.Waker())
	if err == sched.ErrPending {
		cx.Refund()
	}
	return v, err
}

// await is the second part of Poll, after it has found no value.
func (f *oneshotRecvFuture[T]) await(w sched.Waker) (T, error) {
	for {
		state := f.state.Load()
		if state&oneshotOver != 0 {
			return f.receiver().TryRecv()
		}
		if state&oneshotReceiverWaits != 0 {
			if f.waker == w { // only this side writes waker
				return *new(T), sched.ErrPending
			}
			if !f.state.CompareAndSwap(state, state&^oneshotReceiverWaits) {
				continue
			}
			state &^= oneshotReceiverWaits
		}
		f.waker = w
		if f.state.CompareAndSwap(state, state|oneshotReceiverWaits) {
			return *new(T), sched.ErrPending
		}
	}
}

// Cancel cancels the wake-up. The value is not lost.
func (f *oneshotRecvFuture[T]) Cancel() { (*oneshot[T])(f).clear(oneshotReceiverWaits) }
