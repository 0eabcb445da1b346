package chanx

import (
	"context"
	"iter"

	"github.com/suiro-go/suiro/sched"
)

// A BroadcastReceiver gets each value that is sent on a broadcast channel. It belongs to
// one task or goroutine at a time, and must not be copied: Clone gives others one of
// their own.
type BroadcastReceiver[T any] struct {
	ch     *broadcast[T]
	next   uint64 // position
	closed bool
	wait   BroadcastRecvFuture[T]
}

func newBroadcastReceiver[T any](c *broadcast[T], next uint64) *BroadcastReceiver[T] {
	r := &BroadcastReceiver[T]{ch: c, next: next}
	r.wait.r = r
	return r
}

// Recv receives the next value, and waits while there is none. It is for stackful tasks
// (see sched.Await). The error is a LaggedError if values were missed, after which the
// next Recv goes on with the oldest that is left; ErrClosed when no more will come; or
// sched.ErrCancelled in a task that was aborted. It allocates nothing.
func (r *BroadcastReceiver[T]) Recv(cx *sched.Context) (T, error) {
	if cx.Proceed() {
		if v, err := r.TryRecv(); err != ErrEmpty {
			return v, err
		}
	}
	return sched.Await(cx, sched.Future[T](&r.wait))
}

// RecvContext is Recv for an ordinary goroutine, which waits until ctx ends at most. If
// there is a value at once, ctx is not looked at.
func (r *BroadcastReceiver[T]) RecvContext(ctx context.Context) (T, error) {
	if v, err := r.TryRecv(); err != ErrEmpty {
		return v, err
	}
	return sched.Wait(ctx, sched.Future[T](&r.wait))
}

// TryRecv receives the next value if that needs no waiting. The error is ErrEmpty,
// ErrClosed or a LaggedError.
func (r *BroadcastReceiver[T]) TryRecv() (v T, err error) {
	if r.closed {
		return v, ErrClosed
	}
	v, r.next, err = r.ch.receive(r.next)
	return v, err
}

// RecvFuture is a future of the next value. It is the same one each time: the receiver
// belongs to one task at a time. One that is abandoned has taken nothing.
func (r *BroadcastReceiver[T]) RecvFuture() *BroadcastRecvFuture[T] { return &r.wait }

// All receives until the channel is closed and everything received, or the task is
// aborted, which the task's next sched.Await tells. An error that it yields is a
// LaggedError; it goes on after that. It is for stackful tasks.
func (r *BroadcastReceiver[T]) All(cx *sched.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			v, err := r.Recv(cx)
			if _, lagged := err.(LaggedError); err != nil && !lagged || !yield(v, err) {
				return
			}
		}
	}
}

// Clone is another receiver of the same channel, which has what this one has yet to
// receive. It panics if this one has been closed.
func (r *BroadcastReceiver[T]) Clone() *BroadcastReceiver[T] {
	if r.closed {
		panic("chanx: Clone of a closed BroadcastReceiver")
	}
	r.ch.mu.Lock()
	defer r.ch.mu.Unlock()
	r.ch.receiving++
	return newBroadcastReceiver(r.ch, r.next)
}

// Close has the channel forget the receiver. If it was the last one, sends fail. Calls
// after the first do nothing.
func (r *BroadcastReceiver[T]) Close() {
	if r.closed {
		return
	}
	r.closed = true
	r.ch.mu.Lock()
	defer r.ch.mu.Unlock()
	r.ch.receiving--
}

// Len is how many values the receiver has yet to get, with those it has missed.
func (r *BroadcastReceiver[T]) Len() int {
	r.ch.mu.Lock()
	defer r.ch.mu.Unlock()
	return int(r.ch.next - r.next)
}

// A BroadcastRecvFuture receives one value, see BroadcastReceiver.RecvFuture. Its errors
// are those of TryRecv, but ErrEmpty.
type BroadcastRecvFuture[T any] struct {
	r    *BroadcastReceiver[T]
	node waiter
}

var (
	_ sched.Future[int] = (*BroadcastRecvFuture[int])(nil)
	_ sched.Canceler    = (*BroadcastRecvFuture[int])(nil)
)

// Poll receives the next value if it is there, or has the task woken when it is. It takes
// one unit of the task's budget. After it was done, it receives another.
func (f *BroadcastRecvFuture[T]) Poll(cx *sched.Context) (T, error) {
	if !cx.Proceed() {
		return *new(T), sched.ErrPending
	}
	v, err := f.r.TryRecv()
	if err == ErrEmpty {
		f.r.ch.waiters.enlist(&f.node, cx.Waker())
		v, err = f.r.TryRecv() // no wake-up is lost: see waitQueue
	}
	if err == ErrEmpty {
		return v, sched.ErrPending
	}
	f.Cancel()
	return v, err
}

// Cancel has the future wait no more. Nothing has been received.
func (f *BroadcastRecvFuture[T]) Cancel() { f.r.ch.waiters.leave(&f.node) }
