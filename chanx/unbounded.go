package chanx

import (
	"context"
	"iter"
	"sync/atomic"

	"golang.org/x/sys/cpu"

	"github.com/suiro-go/suiro/sched"
)

// An unbounded is what the handles of an unbounded channel share.
type unbounded[T any] struct {
	queue    segments[T]
	_        [2]cpu.CacheLinePad
	receiver waitQueue // one waits at most; see there why no wake-up is lost
	_        [2]cpu.CacheLinePad
	sending  atomic.Int64 // handles
	ending   atomic.Bool
	wait     UnboundedRecvFuture[T] // of the methods that wait
}

// NewUnbounded makes a channel that holds any number of values, with many senders and one
// receiver, and the first handle of each side.
//
// Nothing slows the senders down: if they are faster than the receiver for long, memory
// ends. Prefer NewBounded unless something else bounds what is sent. Values lie in
// blocks of 32, of which a few are used again and the rest left to the collector.
func NewUnbounded[T any]() (*UnboundedSender[T], *UnboundedReceiver[T]) {
	c := new(unbounded[T])
	c.queue.init()
	c.sending.Store(1)
	c.wait.ch = c
	return &UnboundedSender[T]{ch: c}, &UnboundedReceiver[T]{ch: c}
}

// stop has no more values go in.
func (c *unbounded[T]) stop(cx *sched.Context) {
	if c.ending.Swap(true) {
		return
	}
	c.queue.close()
	if c.receiver.some() {
		c.receiver.wakeOne(cx)
	}
}

// An UnboundedSender is a handle of the sending side of an unbounded channel. Its methods
// may be called from any goroutine, and at once. It must not be copied: Clone gives
// others one of their own. When the last one of a channel is closed, the receiver gets
// what has been sent and then ErrClosed.
type UnboundedSender[T any] struct {
	ch     *unbounded[T]
	closed atomic.Bool
}

// Send sends v. It never waits. The error is ErrClosed, and v has not been sent. cx is
// that of the running task, with which waking the receiver costs less, or nil outside of
// tasks. It allocates when all blocks are full and none is there to be used again.
func (s *UnboundedSender[T]) Send(cx *sched.Context, v T) error {
	if s.closed.Load() || !s.ch.queue.push(v) {
		return ErrClosed
	}
	if s.ch.receiver.some() {
		s.ch.receiver.wakeOne(cx)
	}
	return nil
}

// Clone is another handle of the same channel, which is to be closed on its own. It
// panics if this one has been closed.
func (s *UnboundedSender[T]) Clone() *UnboundedSender[T] {
	if s.closed.Load() || !increase(&s.ch.sending) {
		panic("chanx: Clone of a closed UnboundedSender")
	}
	return &UnboundedSender[T]{ch: s.ch}
}

// Close gives the handle up: a Send on it fails from then on with ErrClosed. If it was
// the last one, the receiver is told. Calls after the first do nothing.
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

// Recv receives a value, and waits while there is none. It is for stackful tasks (see
// sched.Await). With an error it has received nothing: ErrClosed when no more will come,
// or sched.ErrCancelled in a task that was aborted. It allocates nothing.
func (r *UnboundedReceiver[T]) Recv(cx *sched.Context) (T, error) {
	if cx.Proceed() {
		if v, err := r.try(); err != sched.ErrPending {
			return v, err
		}
	}
	return sched.Await(cx, sched.Future[T](&r.ch.wait))
}

// RecvContext is Recv for an ordinary goroutine, which waits until ctx ends at most. If
// there is a value at once, ctx is not looked at.
func (r *UnboundedReceiver[T]) RecvContext(ctx context.Context) (T, error) {
	if v, err := r.try(); err != sched.ErrPending {
		return v, err
	}
	return sched.Wait(ctx, sched.Future[T](&r.ch.wait))
}

func (r *UnboundedReceiver[T]) try() (T, error) {
	if r.closed {
		return *new(T), ErrClosed
	}
	return r.ch.wait.try()
}

// TryRecv receives a value if that needs no waiting. The error is ErrEmpty or ErrClosed.
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
		relax(spins) // sent, perhaps before this call, but not there yet
	}
	return *new(T), ErrClosed
}

// RecvFuture is a future of a value. It is the same one each time: the receiver belongs
// to one task at a time. One that is abandoned has taken nothing.
func (r *UnboundedReceiver[T]) RecvFuture() *UnboundedRecvFuture[T] { return &r.ch.wait }

// RecvMany receives as many values as there are into buf, and waits while there is none.
// Its first result is their number, at least 1 unless there is an error, or buf is
// empty. It is for stackful tasks; errors are those of Recv. It costs one unit of the
// budget.
func (r *UnboundedReceiver[T]) RecvMany(cx *sched.Context, buf []T) (int, error) {
	if len(buf) == 0 {
		return 0, nil
	}
	v, err := r.Recv(cx)
	return r.fill(buf, v, err)
}

// RecvManyContext is RecvMany for an ordinary goroutine, which waits until ctx ends at
// most.
func (r *UnboundedReceiver[T]) RecvManyContext(ctx context.Context, buf []T) (int, error) {
	if len(buf) == 0 {
		return 0, nil
	}
	v, err := r.RecvContext(ctx)
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

// All receives until the channel is closed and drained, or the task is aborted, which
// the task's next sched.Await tells. It is for stackful tasks.
func (r *UnboundedReceiver[T]) All(cx *sched.Context) iter.Seq[T] {
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
func (r *UnboundedReceiver[T]) AllContext(ctx context.Context) iter.Seq[T] {
	return func(yield func(T) bool) {
		for ctx.Err() == nil {
			if v, err := r.RecvContext(ctx); err != nil || !yield(v) {
				return
			}
		}
	}
}

// Stop has all further sends fail with ErrClosed. What has been sent can still be
// received; after that receives fail with ErrClosed.
func (r *UnboundedReceiver[T]) Stop() { r.ch.stop(nil) }

// Close is Stop, and drops what has been sent and not received. Receives fail with
// ErrClosed from then on. Calls after the first do nothing.
func (r *UnboundedReceiver[T]) Close() {
	if r.closed {
		return
	}
	r.Stop()
	r.closed, r.ch.wait.closed = true, true
	for is := done; is == done; {
		_, is = r.ch.queue.pop()
	}
}

// Len is how many values are in the channel, with those that are just being sent.
func (r *UnboundedReceiver[T]) Len() int {
	q := &r.ch.queue
	if end := q.end.Load(); end != 0 {
		return int(end - 1 - q.at)
	}
	return int(q.tail.Load()&^ended - q.at)
}

// An UnboundedRecvFuture receives one value, see UnboundedReceiver.RecvFuture. Its error
// is ErrClosed.
type UnboundedRecvFuture[T any] struct {
	ch     *unbounded[T]
	node   waiter
	closed bool
}

var (
	_ sched.Future[int] = (*UnboundedRecvFuture[int])(nil)
	_ sched.Canceler    = (*UnboundedRecvFuture[int])(nil)
)

// Poll receives a value if there is one, or has the task woken when there is. It takes
// one unit of the task's budget. After it was done, it receives another.
func (f *UnboundedRecvFuture[T]) Poll(cx *sched.Context) (T, error) {
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
	return f.try()
}

func (f *UnboundedRecvFuture[T]) try() (T, error) {
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

// Cancel has the future wait no more. Nothing has been received.
func (f *UnboundedRecvFuture[T]) Cancel() { f.ch.receiver.leave(&f.node) }
