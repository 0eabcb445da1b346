package chanx

import (
	"context"
	"iter"

	"github.com/suiro-go/suiro/internal/ctxcheck"
	"github.com/suiro-go/suiro/sched"
)

// A BroadcastReceiver gets each value that is sent on a broadcast channel. It belongs to one task
// or goroutine at a time. It must not be copied: Clone makes another handle.
type BroadcastReceiver[T any] struct {
	ch     *broadcast[T]
	next   uint64 // position
	closed bool
	wait   broadcastRecvFuture[T]
}

func newBroadcastReceiver[T any](c *broadcast[T], next uint64) *BroadcastReceiver[T] {
	r := &BroadcastReceiver[T]{ch: c, next: next}
	r.wait.r = r
	return r
}

// Recv receives the next value, and waits until there is one. It waits as sched.Await does. If
// values were missed, the error is a LaggedError, and the next Recv goes on with the oldest
// remaining value. The error is ErrClosed when no more values will come, or that of sched.Await.
// Recv allocates nothing.
func (r *BroadcastReceiver[T]) Recv(ctx context.Context) (T, error) {
	if ctx != nil && sched.FromContext(ctx).Proceed() {
		if v, err := r.TryRecv(); err != ErrEmpty {
			return v, err
		}
	}
	return sched.Await(ctx, &r.wait)
}

// TryRecv receives the next value if one is available. The error is ErrEmpty, ErrClosed or a
// LaggedError.
func (r *BroadcastReceiver[T]) TryRecv() (v T, err error) {
	if r.closed {
		return v, ErrClosed
	}
	v, r.next, err = r.ch.receive(r.next)
	return v, err
}

// RecvFuture returns a future of the next value. Each call returns the same future, since the
// receiver belongs to one task at a time. Its errors are those of TryRecv, except ErrEmpty. An
// abandoned future has taken nothing.
func (r *BroadcastReceiver[T]) RecvFuture() sched.Future[T] { return &r.wait }

// All receives until the channel is closed and drained, ctx ends, or a wait is refused (see
// sched.Await). An error that All yields is a LaggedError, and All goes on after it. Use Recv if
// the difference matters.
func (r *BroadcastReceiver[T]) All(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for ctxcheck.Ended(ctx) == nil {
			v, err := r.Recv(ctx)
			if _, lagged := err.(LaggedError); err != nil && !lagged || !yield(v, err) {
				return
			}
		}
	}
}

// Clone returns another receiver of the same channel, at the position of this one. It panics if
// this one has been closed.
func (r *BroadcastReceiver[T]) Clone() *BroadcastReceiver[T] {
	if r.closed {
		panic("chanx: Clone of a closed BroadcastReceiver")
	}
	r.ch.mu.Lock()
	defer r.ch.mu.Unlock()
	r.ch.receiving++
	return newBroadcastReceiver(r.ch, r.next)
}

// Close removes the receiver from the channel. If it was the last one, sends fail. Further calls
// do nothing.
func (r *BroadcastReceiver[T]) Close() {
	if r.closed {
		return
	}
	r.closed = true
	r.ch.mu.Lock()
	r.ch.receiving--
	last := r.ch.receiving == 0
	r.ch.mu.Unlock()
	if last {
		r.ch.closers.wakeAll(nil, woken)
	}
}

// Len is the number of values that the receiver has not received, including missed ones.
func (r *BroadcastReceiver[T]) Len() int {
	r.ch.mu.Lock()
	defer r.ch.mu.Unlock()
	return int(r.ch.next - r.next)
}

// A broadcastRecvFuture receives one value, see BroadcastReceiver.RecvFuture.
type broadcastRecvFuture[T any] struct {
	r    *BroadcastReceiver[T]
	node waiter
}

var (
	_ sched.Future[int] = (*broadcastRecvFuture[int])(nil)
	_ sched.Canceler    = (*broadcastRecvFuture[int])(nil)
)

// Poll receives the next value if it is available. Otherwise it arranges for the task to be woken.
func (f *broadcastRecvFuture[T]) Poll(cx *sched.Context) (T, error) {
	if !cx.Proceed() {
		return *new(T), sched.ErrPending
	}
	v, err := f.r.TryRecv()
	if err == ErrEmpty {
		f.r.ch.waiters.enlist(&f.node, cx.Waker())
		v, err = f.r.TryRecv() // no wake-up is lost: see waitQueue
	}
	if err == ErrEmpty {
		cx.Refund()
		return v, sched.ErrPending
	}
	f.Cancel()
	return v, err
}

// Cancel ends the future's wait. Nothing has been received.
func (f *broadcastRecvFuture[T]) Cancel() { f.r.ch.waiters.leave(&f.node) }
