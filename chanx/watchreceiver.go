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
	ch      *watch[T]
	seen    uint64 // version
	closed  bool
	recv    watchRecvFuture[T]
	changed changedFuture[T]
}

func newWatchReceiver[T any](c *watch[T], seen uint64) *WatchReceiver[T] {
	r := &WatchReceiver[T]{ch: c, seen: seen}
	r.recv.r, r.changed.r = r, r
	return r
}

// Value is the latest value, seen or not. The call does not make it count as seen. It stays the
// latest value after the channel has closed.
func (r *WatchReceiver[T]) Value() T {
	v, _ := r.ch.get()
	return v
}

// Update returns the latest value, which counts as seen from then on.
func (r *WatchReceiver[T]) Update() (v T) {
	v, r.seen = r.ch.get()
	return v
}

// HasChanged reports whether there is a value that was not seen. The error is ErrClosed if there
// is none and no more values will come. It costs one atomic load.
func (r *WatchReceiver[T]) HasChanged() (bool, error) {
	_, changed, err := r.look()
	return changed, err
}

// look is HasChanged, and also returns the latest version.
func (r *WatchReceiver[T]) look() (version uint64, changed bool, err error) {
	word := r.ch.version.Load()
	version = word &^ watchEnded
	switch {
	case r.closed:
		return version, false, ErrClosed
	case version != r.seen:
		return version, true, nil
	case word&watchEnded != 0:
		return version, false, ErrClosed
	default:
		return version, false, nil
	}
}

// tryChanged is HasChanged, but marks the value as seen, and returns ErrEmpty if there is no
// change.
func (r *WatchReceiver[T]) tryChanged() error {
	version, changed, err := r.look()
	if err == nil && !changed {
		return ErrEmpty
	}
	if changed {
		r.seen = version
	}
	return err
}

// TryRecv returns the latest value if it was not seen, and marks it as seen. Otherwise the error
// is ErrEmpty, or ErrClosed if no more values will come.
func (r *WatchReceiver[T]) TryRecv() (v T, err error) {
	switch changed, err := r.HasChanged(); {
	case err != nil:
		return v, err
	case !changed:
		return v, ErrEmpty
	default:
		return r.Update(), nil
	}
}

// Recv waits until there is a value that was not seen, returns it, and marks it as seen. It waits
// as sched.Await does. The error is ErrClosed when no more values will come, or that of
// sched.Await. It allocates nothing.
func (r *WatchReceiver[T]) Recv(ctx context.Context) (T, error) {
	if sched.FromContext(ctx).Proceed() {
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

// Changed waits until there is a value that was not seen, and marks it as seen. Value then returns
// that value or a later one; for a later one the next Changed does not wait. Recv does both in one
// step. Its errors are those of Recv.
func (r *WatchReceiver[T]) Changed(ctx context.Context) error {
	if sched.FromContext(ctx).Proceed() {
		if err := r.tryChanged(); err != ErrEmpty {
			return err
		}
	}
	_, err := sched.Await(ctx, &r.changed)
	return err
}

// ChangedFuture is Changed as a future. Each call returns the same future. An abandoned future has
// marked nothing as seen.
func (r *WatchReceiver[T]) ChangedFuture() sched.Future[struct{}] { return &r.changed }

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

// A changedFuture is done when there is a value that was not seen, see WatchReceiver.Changed.
type changedFuture[T any] struct {
	r    *WatchReceiver[T]
	node waiter
}

// A watchRecvFuture receives the latest value, see WatchReceiver.RecvFuture.
type watchRecvFuture[T any] struct {
	r    *WatchReceiver[T]
	node waiter
}

var (
	_ sched.Future[int]      = (*watchRecvFuture[int])(nil)
	_ sched.Canceler         = (*watchRecvFuture[int])(nil)
	_ sched.Future[struct{}] = (*changedFuture[int])(nil)
	_ sched.Canceler         = (*changedFuture[int])(nil)
)

// Poll is done if there is a value that was not seen. Otherwise it arranges for the task to be
// woken when there is.
func (f *changedFuture[T]) Poll(cx *sched.Context) (struct{}, error) {
	if !cx.Proceed() {
		return struct{}{}, sched.ErrPending
	}
	err := f.r.tryChanged()
	if err == ErrEmpty {
		f.r.ch.waiters.enlist(&f.node, cx.Waker())
		err = f.r.tryChanged() // no wake-up is lost: see waitQueue
	}
	if err == ErrEmpty {
		cx.Refund()
		return struct{}{}, sched.ErrPending
	}
	f.Cancel()
	return struct{}{}, err
}

// Cancel ends the future's wait.
func (f *changedFuture[T]) Cancel() { f.r.ch.waiters.leave(&f.node) }

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
