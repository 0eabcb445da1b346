package chanx

import (
	"context"
	"iter"
	"sync/atomic"

	"github.com/suiro-go/suiro/sched"
)

// A Receiver is a handle of the receiving side of a bounded channel. Its methods may be
// called from any goroutine, and at once: each value is received once, by one of those
// who receive. It must not be copied: Clone gives others one of their own. When the last
// Receiver of a channel is closed, sends fail with ErrClosed, and what has not been
// received is dropped.
type Receiver[T any] struct {
	ch     *bounded[T]
	closed atomic.Bool
}

// Recv receives a value, and waits while there is none. It is for stackful tasks (see
// sched.Await). With an error it has received nothing: ErrClosed when no more will come,
// or sched.ErrCancelled in a task that was aborted, which notices that when it has to
// wait, or when its budget is used up. It allocates nothing, waiting or not.
func (r *Receiver[T]) Recv(cx *sched.Context) (T, error) {
	if r.closed.Load() {
		return *new(T), ErrClosed
	}
	if cx.Proceed() {
		if v, is := r.ch.receive(cx); is == done {
			return v, nil
		} else if is == closed {
			return v, ErrClosed
		}
	}
	f := take[RecvFuture[T]](&r.ch.receives)
	f.ch = r.ch
	v, err := sched.Await(cx, sched.Future[T](f))
	r.ch.receives.Put(f)
	return v, err
}

// RecvContext is Recv for an ordinary goroutine, which waits until ctx ends at most. The
// error is then that of ctx. If there is a value at once, ctx is not looked at.
func (r *Receiver[T]) RecvContext(ctx context.Context) (T, error) {
	if r.closed.Load() {
		return *new(T), ErrClosed
	}
	if v, is := r.ch.receive(nil); is == done {
		return v, nil
	} else if is == closed {
		return v, ErrClosed
	}
	f := take[RecvFuture[T]](&r.ch.receives)
	f.ch = r.ch
	v, err := sched.Wait(ctx, sched.Future[T](f))
	r.ch.receives.Put(f)
	return v, err
}

// TryRecv receives a value if that needs no waiting. The error is ErrEmpty or ErrClosed.
func (r *Receiver[T]) TryRecv() (T, error) {
	if r.closed.Load() {
		return *new(T), ErrClosed
	}
	for spins := 0; ; spins++ {
		switch v, is := r.ch.receive(nil); is {
		case done:
			return v, nil
		case closed:
			return v, ErrClosed
		case empty:
			return v, ErrEmpty
		}
		relax(spins) // sent, perhaps before this call, but not there yet
	}
}

// RecvFuture is a future of a value. A task that keeps it receives with it as often as
// it likes, and allocates nothing. One that is abandoned has taken nothing.
func (r *Receiver[T]) RecvFuture() *RecvFuture[T] {
	f := new(RecvFuture[T])
	if !r.closed.Load() {
		f.ch = r.ch
	}
	return f
}

// RecvMany receives as many values as there are into buf, and waits while there is none.
// Its first result is their number, at least 1 unless there is an error, or buf is
// empty. It is for stackful tasks; errors are those of Recv. It costs less than as many
// calls of Recv, and one unit of the budget. It allocates nothing.
func (r *Receiver[T]) RecvMany(cx *sched.Context, buf []T) (int, error) {
	if r.closed.Load() {
		return 0, ErrClosed
	}
	f := take[RecvManyFuture[T]](&r.ch.batches)
	f.ch, f.buf = r.ch, buf
	n, err := sched.Await(cx, sched.Future[int](f))
	f.buf = nil
	r.ch.batches.Put(f)
	return n, err
}

// RecvManyContext is RecvMany for an ordinary goroutine, which waits until ctx ends at
// most.
func (r *Receiver[T]) RecvManyContext(ctx context.Context, buf []T) (int, error) {
	if r.closed.Load() {
		return 0, ErrClosed
	}
	f := take[RecvManyFuture[T]](&r.ch.batches)
	f.ch, f.buf = r.ch, buf
	n, err := sched.Wait(ctx, sched.Future[int](f))
	f.buf = nil
	r.ch.batches.Put(f)
	return n, err
}

// RecvManyFuture is a future of a number of values that were received into buf.
func (r *Receiver[T]) RecvManyFuture(buf []T) *RecvManyFuture[T] {
	f := &RecvManyFuture[T]{buf: buf}
	if !r.closed.Load() {
		f.ch = r.ch
	}
	return f
}

// All receives until the channel is closed and drained, or the task is aborted, which
// the task's next sched.Await tells. It is for stackful tasks.
func (r *Receiver[T]) All(cx *sched.Context) iter.Seq[T] {
	return func(yield func(T) bool) {
		for {
			if v, err := r.Recv(cx); err != nil || !yield(v) {
				return
			}
		}
	}
}

// AllContext is All for an ordinary goroutine: until the channel is closed and drained,
// or ctx ends.
func (r *Receiver[T]) AllContext(ctx context.Context) iter.Seq[T] {
	return func(yield func(T) bool) {
		for ctx.Err() == nil {
			if v, err := r.RecvContext(ctx); err != nil || !yield(v) {
				return
			}
		}
	}
}

// Stop has all further sends fail with ErrClosed, of all handles, also those that wait.
// What has been sent, and what permits that are out send, can still be received; after
// that receives fail with ErrClosed.
func (r *Receiver[T]) Stop() {
	if !r.closed.Load() {
		r.ch.stop(shut)
	}
}

// Clone is another handle of the same channel, which is to be closed on its own. It
// panics if this one has been closed.
func (r *Receiver[T]) Clone() *Receiver[T] {
	if r.closed.Load() || !increase(&r.ch.receiving) {
		panic("chanx: Clone of a closed Receiver")
	}
	return &Receiver[T]{ch: r.ch}
}

// Close gives the handle up: what is called on it from then on fails with ErrClosed.
// If it was the last one of its channel, sends fail from then on, also those that wait
// and those of permits, and what is in the channel is dropped. Calls after the first do
// nothing.
func (r *Receiver[T]) Close() {
	if !r.closed.Swap(true) && r.ch.receiving.Add(-1) == 0 {
		r.ch.stop(shut | deaf)
		r.ch.discard()
	}
}

// Len is how many values are in the channel. Others may change that at any time.
func (r *Receiver[T]) Len() int { return r.ch.ring.len() }

// Cap is how many values the channel can hold.
func (r *Receiver[T]) Cap() int { return int(r.ch.ring.capacity) }
