package chanx

import (
	"context"
	"iter"

	"github.com/suiro-go/suiro/internal/ctxcheck"
	"github.com/suiro-go/suiro/sched"
)

// A WatchReceiver sees the latest value of a watch channel. It belongs to one task or goroutine at
// a time. It must not be copied: Clone makes another handle.
type WatchReceiver[T any] struct {
	ch     *watch[T]
	seen   uint64 // version
	closed bool
	recv   watchRecvFuture[T]
}

func newWatchReceiver[T any](c *watch[T], seen uint64) *WatchReceiver[T] {
	r := &WatchReceiver[T]{ch: c, seen: seen}
	r.recv.r = r
	return r
}

// Value is the latest value, seen or not. The call does not make it count as seen. It stays the
// latest value after the channel has closed.
func (r *WatchReceiver[T]) Value() T {
	v, _ := r.ch.get()
	return v
}

// look returns nil if there is a value that was not seen. Otherwise it returns ErrEmpty, or
// ErrClosed if no more values will come.
func (r *WatchReceiver[T]) look() error {
	word := r.ch.version.Load()
	switch {
	case r.closed:
		return ErrClosed
	case word&^watchEnded != r.seen:
		return nil
	case word&watchEnded != 0:
		return ErrClosed
	default:
		return ErrEmpty
	}
}

// TryRecv returns the latest value if it was not seen, and marks it as seen. Otherwise the error
// is ErrEmpty, or ErrClosed if no more values will come. Without a value it costs one atomic load.
func (r *WatchReceiver[T]) TryRecv() (v T, err error) {
	if err := r.look(); err != nil {
		return v, err
	}
	v, r.seen = r.ch.get()
	return v, nil
}

// Recv waits until there is a value that was not seen, returns it, and marks it as seen. It waits
// as sched.Await does. The error is ErrClosed when no more values will come, or that of
// sched.Await. It allocates nothing.
func (r *WatchReceiver[T]) Recv(ctx context.Context) (T, error) {
	if ctx != nil && sched.FromContext(ctx).Proceed() {
		if v, err := r.TryRecv(); err != ErrEmpty {
			return v, err
		}
	}
	return sched.Await(ctx, &r.recv)
}

// RecvFuture returns a future of the next value that was not seen. Each call returns the same
// future, since the receiver belongs to one task at a time. Its error is ErrClosed. An abandoned
// future has marked nothing as seen.
func (r *WatchReceiver[T]) RecvFuture() sched.Future[T] { return &r.recv }

// All yields each value that Recv returns, until the channel is closed and the last value seen,
// ctx ends, or a wait is refused (see sched.Await). Use Recv if the difference matters.
func (r *WatchReceiver[T]) All(ctx context.Context) iter.Seq[T] {
	return func(yield func(T) bool) {
		for ctxcheck.Ended(ctx) == nil {
			if v, err := r.Recv(ctx); err != nil || !yield(v) {
				return
			}
		}
	}
}

// Clone returns another receiver of the same channel. The values that this one has seen count as
// seen. It panics if this one has been closed.
func (r *WatchReceiver[T]) Clone() *WatchReceiver[T] {
	if r.closed {
		panic("chanx: Clone of a closed WatchReceiver")
	}
	r.ch.receiving.Add(1)
	return newWatchReceiver(r.ch, r.seen)
}

// Close removes the receiver from the channel. If it was the last one, sends fail. Further calls
// do nothing.
func (r *WatchReceiver[T]) Close() {
	if !r.closed {
		r.closed = true
		if r.ch.receiving.Add(-1) == 0 {
			r.ch.closers.wakeAll(nil, woken)
		}
	}
}

// A watchRecvFuture receives the latest value, see WatchReceiver.RecvFuture.
type watchRecvFuture[T any] struct {
	r    *WatchReceiver[T]
	node waiter
}

var (
	_ sched.Future[int] = (*watchRecvFuture[int])(nil)
	_ sched.Canceler    = (*watchRecvFuture[int])(nil)
)

// Poll returns the latest value if it was not seen. Otherwise it arranges for the task to be woken
// when there is a new value.
func (f *watchRecvFuture[T]) Poll(cx *sched.Context) (T, error) {
	if !cx.Proceed() {
		return *new(T), sched.ErrPending
	}
	v, err := f.r.TryRecv()
	if err == ErrEmpty {
		f.r.ch.waiters.enlist(&f.node, cx.Waker())
		v, err = f.r.TryRecv()
	}
	if err == ErrEmpty {
		cx.Refund()
		return v, sched.ErrPending
	}
	f.Cancel()
	return v, err
}

// Cancel ends the future's wait, and marks nothing as seen.
func (f *watchRecvFuture[T]) Cancel() { f.r.ch.waiters.leave(&f.node) }
