package chanx

import (
	"context"
	"iter"
	"sync/atomic"

	"golang.org/x/sys/cpu"

	"github.com/suiro-go/suiro/internal/ctxcheck"
	"github.com/suiro-go/suiro/sched"
)

// An unbounded is the state that the handles of an unbounded channel share.
type unbounded[T any] struct {
	queue    segments[T]
	_        [2]cpu.CacheLinePad
	receiver waitQueue // at most one receiver waits; see waitQueue why no wake-up is lost
	_        [2]cpu.CacheLinePad
	closers  waitQueue    // senders that wait until nobody receives any more
	sending  atomic.Int64 // number of handles
	ending   atomic.Bool
	wait     unboundedRecvFuture[T] // used by the methods that wait
}

// NewUnbounded makes a channel that holds any number of values, for many senders and one receiver.
// It returns the first handle of each side.
//
// Senders never wait. If they are faster than the receiver for long, memory runs out. Prefer
// NewBounded unless something else bounds the number of values. Values are stored in blocks of 32.
// A few blocks are reused, and the others are freed by the garbage collector.
func NewUnbounded[T any]() (*UnboundedSender[T], *UnboundedReceiver[T]) {
	c := new(unbounded[T])
	c.queue.init()
	c.sending.Store(1)
	c.wait.ch = c
	return &UnboundedSender[T]{ch: c}, &UnboundedReceiver[T]{ch: c}
}

// stop closes the channel for new values.
func (c *unbounded[T]) stop(cx *sched.Context) {
	if c.ending.Swap(true) {
		return
	}
	c.queue.close()
	if c.receiver.some() {
		c.receiver.wakeOne(cx)
	}
	c.closers.wakeAll(cx, woken)
}

// An UnboundedSender is a handle of the sending side of an unbounded channel. Its methods may be
// called from any goroutine, and concurrently. It must not be copied: Clone makes another handle.
// When the last one of a channel is closed, the receiver gets the remaining values and then
// ErrClosed.
type UnboundedSender[T any] struct {
	ch     *unbounded[T]
	closed atomic.Bool
}

// Send sends v. It never waits. The error is ErrClosed, and then v has not been sent. With the
// context of the task that calls it, waking the receiver is cheaper. It allocates when all blocks
// are full and none is available for reuse.
func (s *UnboundedSender[T]) Send(ctx context.Context, v T) error {
	if s.closed.Load() || !s.ch.queue.push(v) {
		return ErrClosed
	}
	if s.ch.receiver.some() {
		s.ch.receiver.wakeOne(sched.FromContext(ctx))
	}
	return nil
}

// Clone returns another handle of the same channel, which must be closed separately. It panics if
// this one has been closed.
func (s *UnboundedSender[T]) Clone() *UnboundedSender[T] {
	if s.closed.Load() || !increase(&s.ch.sending) {
		panic("chanx: Clone of a closed UnboundedSender")
	}
	return &UnboundedSender[T]{ch: s.ch}
}

// Close closes the handle: later Sends on it fail with ErrClosed. If it was the last one, the
// receiver is woken. Further calls do nothing.
func (s *UnboundedSender[T]) Close() {
	if !s.closed.Swap(true) && s.ch.sending.Add(-1) == 0 {
		s.ch.stop(nil)
	}
}

// IsClosed reports whether a Send would fail with ErrClosed.
func (s *UnboundedSender[T]) IsClosed() bool { return s.closed.Load() || s.ch.ending.Load() }

// An UnboundedReceiver is the receiving side of an unbounded channel. It belongs to one
// task or goroutine at a time, and must not be copied.
type UnboundedReceiver[T any] struct {
	ch     *unbounded[T]
	closed bool
}

// Recv receives a value, and waits until there is one. It waits as sched.Await does. With an error
// it has received nothing. The error is ErrClosed when no more values will come, or that of
// sched.Await. It allocates nothing.
func (r *UnboundedReceiver[T]) Recv(ctx context.Context) (T, error) {
	if ctx != nil && sched.FromContext(ctx).Proceed() {
		if v, err := r.try(); err != sched.ErrPending {
			return v, err
		}
	}
	return sched.Await(ctx, &r.ch.wait)
}

func (r *UnboundedReceiver[T]) try() (T, error) {
	if r.closed {
		return *new(T), ErrClosed
	}
	return r.ch.wait.try()
}

// TryRecv receives a value if one is available. The error is ErrEmpty or ErrClosed.
func (r *UnboundedReceiver[T]) TryRecv() (T, error) {
	for spins := 0; !r.closed; spins++ {
		switch v, is := r.ch.queue.pop(); is {
		case done:
			return v, nil
		case closed:
			return v, ErrClosed
		case empty:
			return v, ErrEmpty
		}
		relax(spins) // a value is being sent, perhaps since before this call
	}
	return *new(T), ErrClosed
}

// RecvFuture returns a future of a value. Each call returns the same future, since the receiver
// belongs to one task at a time. Its error is ErrClosed. An abandoned future has taken nothing.
func (r *UnboundedReceiver[T]) RecvFuture() sched.Future[T] { return &r.ch.wait }

// RecvMany receives as many values as are available into buf, and waits until there is one. It
// returns their number, which is at least 1 unless there is an error or buf is empty. Its errors
// are those of Recv. It uses one unit of the budget.
func (r *UnboundedReceiver[T]) RecvMany(ctx context.Context, buf []T) (int, error) {
	if len(buf) == 0 {
		return 0, nil
	}
	v, err := r.Recv(ctx)
	return r.fill(buf, v, err)
}

func (r *UnboundedReceiver[T]) fill(buf []T, v T, err error) (n int, _ error) {
	for is := done; err == nil && is == done; {
		buf[n] = v
		if n++; n == len(buf) {
			break
		}
		v, is = r.ch.queue.pop()
	}
	return n, err
}

// All receives until the channel is closed and drained, ctx ends, or a wait is refused (see
// sched.Await). Use Recv if the difference matters.
func (r *UnboundedReceiver[T]) All(ctx context.Context) iter.Seq[T] {
	return func(yield func(T) bool) {
		for ctxcheck.Ended(ctx) == nil {
			if v, err := r.Recv(ctx); err != nil || !yield(v) {
				return
			}
		}
	}
}

// Stop makes all further sends fail with ErrClosed. Values that were sent can still be received.
// After that, receives fail with ErrClosed.
func (r *UnboundedReceiver[T]) Stop() { r.ch.stop(nil) }

// Close calls Stop, and drops the values that were not received, also those that are just being
// sent. Receives fail with ErrClosed from then on. Further calls do nothing.
func (r *UnboundedReceiver[T]) Close() {
	if r.closed {
		return
	}
	r.Stop()
	r.closed, r.ch.wait.closed = true, true
	for spins := 0; ; spins++ {
		switch _, is := r.ch.queue.pop(); is {
		case done:
			spins = 0
		case closed:
			return
		default: // a value is being sent, or another goroutine is about to end the queue
			relax(spins)
		}
	}
}

// Len is the number of values in the channel, including those that are just being sent.
func (r *UnboundedReceiver[T]) Len() int {
	q := &r.ch.queue
	if end := q.end.Load(); end != 0 {
		return int(end - 1 - q.at)
	}
	return int(q.tail.Load()&^ended - q.at)
}

// An unboundedRecvFuture receives one value, see UnboundedReceiver.RecvFuture.
type unboundedRecvFuture[T any] struct {
	ch     *unbounded[T]
	node   waiter
	closed bool
}

var (
	_ sched.Future[int] = (*unboundedRecvFuture[int])(nil)
	_ sched.Canceler    = (*unboundedRecvFuture[int])(nil)
)

// Poll receives a value if one is available. Otherwise it arranges for the task to be woken when
// there is one.
func (f *unboundedRecvFuture[T]) Poll(cx *sched.Context) (T, error) {
	if !cx.Proceed() {
		return *new(T), sched.ErrPending
	}
	if f.closed {
		return *new(T), ErrClosed
	}
	v, err := f.try()
	if err != sched.ErrPending {
		return v, err
	}
	f.ch.receiver.enlist(&f.node, cx.Waker())
	if v, err = f.try(); err == sched.ErrPending {
		cx.Refund()
	}
	return v, err
}

func (f *unboundedRecvFuture[T]) try() (T, error) {
	v, is := f.ch.queue.pop()
	switch is {
	case done:
		f.Cancel()
		return v, nil
	case closed:
		f.Cancel()
		return v, ErrClosed
	default:
		return v, sched.ErrPending
	}
}

// Cancel ends the future's wait. Nothing has been received.
func (f *unboundedRecvFuture[T]) Cancel() { f.ch.receiver.leave(&f.node) }
