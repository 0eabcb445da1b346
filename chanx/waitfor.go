package chanx

import (
	"context"

	"github.com/suiro-go/suiro/sched"
)

// A waitForFuture is done when the value of a watch channel satisfies a condition: see
// WatchReceiver.WaitFor.
type waitForFuture[T any] struct {
	r     *WatchReceiver[T]
	until func(T) bool
	node  waiter
}

var (
	_ sched.Future[int] = (*waitForFuture[int])(nil)
	_ sched.Canceler    = (*waitForFuture[int])(nil)
)

// WaitFor waits until the value satisfies until, and returns that value. It begins with the latest
// value, seen or not. Each value that was passed to until counts as seen; values in between may be
// missed. The error is ErrClosed if no more values will come and the last one does not satisfy
// until. It is otherwise that of sched.Await. until must be quick: it runs on the worker, without a
// lock. WaitFor costs one allocation.
func (r *WatchReceiver[T]) WaitFor(ctx context.Context, until func(T) bool) (T, error) {
	return sched.Await(ctx, r.WaitForFuture(until))
}

// WaitForFuture is WaitFor as a future. Like RecvFuture it belongs to the receiver's task. It uses
// one unit of the budget for each value, except the one after which it waits. If it is abandoned,
// the last value that counts as seen did not satisfy until.
func (r *WatchReceiver[T]) WaitForFuture(until func(T) bool) sched.Future[T] {
	return &waitForFuture[T]{r: r, until: until}
}

// Poll returns the latest value if it satisfies the condition. Otherwise it arranges for the task
// to be woken when there is another value.
func (f *waitForFuture[T]) Poll(cx *sched.Context) (v T, err error) {
	if f.r.closed {
		return v, ErrClosed
	}
	for cx.Proceed() {
		v, version := f.r.ch.get()
		f.r.seen = version
		if f.until(v) {
			f.Cancel()
			return v, nil
		}
		f.r.ch.waiters.enlist(&f.node, cx.Waker())
		switch f.r.look() { // no wake-up is lost: see waitQueue
		case ErrClosed:
			f.Cancel()
			return *new(T), ErrClosed
		case ErrEmpty:
			cx.Refund()
			return *new(T), sched.ErrPending
		}
	}
	return v, sched.ErrPending
}

// Cancel ends the wait.
func (f *waitForFuture[T]) Cancel() { f.r.ch.waiters.leave(&f.node) }
