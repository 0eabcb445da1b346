package blocking

import (
	"context"

	"github.com/suiro-go/suiro/sched"
)

// Do has the pool call fn, and awaits the result, in a stackful task. In a task that
// was aborted, or is while it waits, it returns sched.ErrCancelled: at once, and then
// fn has not been called, will not be, or goes on by itself, and its result is dropped.
// ErrClosed: the pool has been shut down.
//
// It costs one allocation beside those of fn. A round trip takes about a microsecond
// while short calls follow each other and a processor is free for the pool, and as long
// as it takes to wake a goroutine and then the worker, some ten, when not. See
// BenchmarkDo.
func Do[T any](cx *sched.Context, p *Pool, fn func() (T, error)) (T, error) {
	return sched.Await(cx, DoFuture(p, fn))
}

// DoContext is Do for an ordinary goroutine. If ctx ends first it returns its error; fn
// will then not be called, or goes on by itself, and its result is dropped.
func DoContext[T any](ctx context.Context, p *Pool, fn func() (T, error)) (T, error) {
	return sched.Wait(ctx, DoFuture(p, fn))
}

// DoFuture is Do as a future: its first poll submits the call.
func DoFuture[T any](p *Pool, fn func() (T, error)) *Call[T] { return &Call[T]{pool: p, fn: fn} }

// A Call is a call that a task awaits. Unlike a Handle it belongs to one task, and if
// it is abandoned, it aborts. After it has given its result, the next poll makes the call
// anew, without an allocation.
type Call[T any] struct {
	pool      *Pool
	fn        func() (T, error)
	handle    Handle[T]
	submitted bool
}

var (
	_ sched.Future[int] = (*Handle[int])(nil)
	_ sched.Future[int] = (*Call[int])(nil)
	_ sched.Canceler    = (*Call[int])(nil)
)

// Poll submits the call, if this is the first one, and is its result once it has ended.
func (c *Call[T]) Poll(cx *sched.Context) (T, error) {
	if !c.submitted {
		if !cx.Proceed() { // calls that end at once would be made for ever
			return *new(T), sched.ErrPending
		}
		c.submitted = true
		c.handle.reset()
		switch c.handle.submit(c.pool, c.fn) {
		case sooner:
			if cx.Alone() {
				c.handle.lookOut()
			}
			cx.ExpectWake()
		case soon:
			cx.ExpectWake()
		}
	}
	v, err := c.handle.Poll(cx)
	if err != sched.ErrPending {
		c.submitted = false
	}
	return v, err
}

// lookOut waits for the end of a call that a thread has been spinning for, for a
// microsecond or two: less than it costs the task to be suspended and woken. After one
// that takes longer, as calls that block do, the next ones are not waited for.
func (h *Handle[T]) lookOut() {
	p := h.pool
	if n := p.slow.Load(); n > 0 {
		p.slow.Store(n - 1) // roughly
		return
	}
	for range lookOutFor {
		if h.done.Load() {
			return
		}
	}
	p.slow.Store(slowFor)
}

const (
	lookOutFor = 1000 // loads of a word
	slowFor    = 7    // calls
)

// reset makes a handle good again whose call has ended and whose result was taken.
func (h *Handle[T]) reset() {
	h.value, h.err = *new(T), nil
	h.done.Store(false)
}

// Cancel aborts the call. The future must not be polled any more.
func (c *Call[T]) Cancel() {
	if c.submitted {
		c.handle.Abort()
	}
}
