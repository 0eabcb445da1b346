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
// It allocates nothing beside what fn does, in the long run. A round trip takes about as long as
// starting a goroutine and receiving from it, whether or not others are under way; a worker with a
// driver, which then parks its thread, takes some ten microseconds. See BenchmarkDo.
func Do[T any](cx *sched.Context, p *Pool, fn func() (T, error)) (T, error) {
	c := borrow(p, fn)
	v, err := sched.Await(cx, c)
	c.giveBack()
	return v, err
}

// DoContext is Do for an ordinary goroutine. If ctx ends first it returns its error; fn
// will then not be called, or goes on by itself, and its result is dropped.
func DoContext[T any](ctx context.Context, p *Pool, fn func() (T, error)) (T, error) {
	ctx, release := p.realTime(ctx)
	defer release()
	c := borrow(p, fn)
	v, err := sched.Wait(ctx, c)
	c.giveBack()
	return v, err
}

// borrow is a call from the pool's, or a new one. Those of other types are not worth
// looking for.
func borrow[T any](p *Pool, fn func() (T, error)) *Call[T] {
	c, ok := p.calls.Get().(*Call[T])
	if !ok {
		return DoFuture(p, fn)
	}
	c.fn = fn
	return c
}

// giveBack is for whoever will not use the call any more. One that was abandoned may
// still be under way, and is left to it.
func (c *Call[T]) giveBack() {
	if !c.submitted {
		c.fn = nil
		c.handle.reset()
		c.pool.calls.Put(c)
	}
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
		c.handle.submit(c.pool, c.fn, cx)
		if !c.handle.done.Load() {
			return *new(T), sched.ErrPending // it waits
		}
	}
	v, err := c.handle.Poll(cx)
	if err != sched.ErrPending {
		c.submitted = false
	}
	return v, err
}

// reset makes a handle good again whose call has ended and whose result was taken.
func (h *Handle[T]) reset() {
	h.value, h.err = *new(T), nil
	if h.done.Load() {
		h.done.Store(false)
	}
}

// Cancel aborts the call. The future must not be polled any more.
func (c *Call[T]) Cancel() {
	if c.submitted {
		c.handle.Abort()
	}
}
