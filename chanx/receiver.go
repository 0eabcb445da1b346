package chanx

import (
	"context"
	"iter"
	"sync/atomic"

	"github.com/suiro-go/suiro/internal/ctxcheck"
	"github.com/suiro-go/suiro/sched"
)

// A Receiver is a handle of the receiving side of a bounded channel. Its methods may be called
// from any goroutine, and concurrently: each value is received once. It must not be copied: Clone
// makes another handle. When the last Receiver of a channel is closed, sends fail with ErrClosed,
// and the values in the channel are dropped.
type Receiver[T any] struct {
	ch     *bounded[T]
	closed atomic.Bool
}

// Recv receives a value, and waits until there is one. It waits as sched.Await does. With an error
// it has received nothing. The error is ErrClosed when no more values will come, or that of
// sched.Await. An abort and the end of ctx are noticed when the call has to wait, or when the
// budget of its task is used up. Recv allocates nothing, waiting or not.
func (r *Receiver[T]) Recv(ctx context.Context) (T, error) {
	if r.closed.Load() {
		return *new(T), ErrClosed
	}
	cx := sched.FromContext(ctx)
	if ctx != nil && cx.Proceed() {
		if v, is := r.ch.receive(cx); is == done {
			return v, nil
		} else if is == closed {
			return v, ErrClosed
		}
	}
	f := take[recvFuture[T]](&r.ch.receives)
	f.ch = r.ch
	v, err := sched.Await(ctx, f)
	r.ch.receives.Put(f)
	return v, err
}

// TryRecv receives a value if one is available. The error is ErrEmpty or ErrClosed.
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
		relax(spins) // a value is being sent, perhaps since before this call
	}
}

// RecvFuture returns a future of a value. It can be used again for each further value, without an
// allocation. Its error is ErrClosed. An abandoned future has taken nothing.
func (r *Receiver[T]) RecvFuture() sched.Future[T] {
	f := new(recvFuture[T])
	if !r.closed.Load() {
		f.ch = r.ch
	}
	return f
}

// RecvMany receives as many values as are available into buf, and waits until there is one. It
// returns their number, which is at least 1 unless there is an error or buf is empty. Its errors
// are those of Recv. It costs less than as many calls of Recv, and uses one unit of the budget. It
// allocates nothing.
func (r *Receiver[T]) RecvMany(ctx context.Context, buf []T) (int, error) {
	if r.closed.Load() {
		return 0, ErrClosed
	}
	f := take[recvManyFuture[T]](&r.ch.batches)
	f.ch, f.buf = r.ch, buf
	n, err := sched.Await(ctx, f)
	f.buf = nil
	r.ch.batches.Put(f)
	return n, err
}

// RecvManyFuture returns a future of the number of values that were received into buf. It can be
// used again for further values. Its error is ErrClosed. An abandoned future has received nothing.
func (r *Receiver[T]) RecvManyFuture(buf []T) sched.Future[int] {
	f := &recvManyFuture[T]{buf: buf}
	if !r.closed.Load() {
		f.ch = r.ch
	}
	return f
}

// All receives until the channel is closed and drained, ctx ends, or a wait is refused (see
// sched.Await). Use Recv if the difference matters.
func (r *Receiver[T]) All(ctx context.Context) iter.Seq[T] {
	return func(yield func(T) bool) {
		for ctxcheck.Ended(ctx) == nil {
			if v, err := r.Recv(ctx); err != nil || !yield(v) {
				return
			}
		}
	}
}

// Stop makes all further and all waiting sends fail with ErrClosed, on all handles. Values that
// have been sent, and the values of permits, can still be received. After that, receives fail with
// ErrClosed.
func (r *Receiver[T]) Stop() {
	if !r.closed.Load() {
		r.ch.stop(closedBit)
	}
}

// Clone returns another handle of the same channel, which must be closed separately. It panics if
// this one has been closed.
func (r *Receiver[T]) Clone() *Receiver[T] {
	if r.closed.Load() || !increase(&r.ch.receiving) {
		panic("chanx: Clone of a closed Receiver")
	}
	return &Receiver[T]{ch: r.ch}
}

// Close closes the handle: later calls on it fail with ErrClosed. If it was the last one of its
// channel, all sends fail from then on, including waiting sends and those of permits. The values
// in the channel are dropped. Further calls do nothing.
func (r *Receiver[T]) Close() {
	if !r.closed.Swap(true) && r.ch.receiving.Add(-1) == 0 {
		r.ch.stop(closedBit | noReceivers)
		r.ch.discard()
	}
}

// Len is the number of values in the channel. It may change at any time.
func (r *Receiver[T]) Len() int { return r.ch.ring.len() }
