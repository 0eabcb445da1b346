package blocking

import (
	"context"

	"github.com/suiro-go/suiro/internal/ctxcheck"
	"github.com/suiro-go/suiro/sched"
)

// Do calls fn on the pool and awaits the result (see sched.Await). The error is ErrClosed if the
// pool has been shut down. If ctx ends, or the task is aborted, Do returns at once with that error.
// Then fn is not called, or it goes on and its result is dropped. If the wait is refused, fn is not
// called. fn runs on another goroutine: it waits with sched.WithoutTask(ctx).
//
// In the long run Do itself allocates nothing. A round trip takes about as long as starting a
// goroutine and receiving from it, also when other calls are in progress. On a worker with a
// driver, which then parks its thread, it takes some ten microseconds. See BenchmarkDo.
func Do[T any](ctx context.Context, p *Pool, fn func() (T, error)) (T, error) {
	c := borrow(p, fn)
	defer c.giveBack()
	if err := ctxcheck.Refused(ctx); err != nil { // the first poll submits the call
		return *new(T), err
	}
	if sched.FromContext(ctx) == nil && ctx != nil {
		var release func()
		ctx, release = p.realTime(ctx)
		defer release()
	}
	return sched.Await(ctx, c)
}

// borrow returns a call from the pool of calls, or a new one. If the pooled call has another type,
// it makes a new one.
func borrow[T any](p *Pool, fn func() (T, error)) *Call[T] {
	mustHaveFunction(fn == nil)
	c, ok := p.calls.Get().(*Call[T])
	if !ok {
		return DoFuture(p, fn)
	}
	c.fn = fn
	return c
}

// giveBack returns an unused call to the pool of calls. An abandoned call may still be in
// progress: it is dropped.
func (c *Call[T]) giveBack() {
	if !c.submitted {
		c.fn = nil
		c.pool.calls.Put(c)
	}
}

// DoFuture is Do as a future: its first poll submits the call.
func DoFuture[T any](p *Pool, fn func() (T, error)) *Call[T] {
	mustHaveFunction(fn == nil)
	return &Call[T]{pool: p, fn: fn}
}

// mustHaveFunction panics for a nil function, in the call that passes it.
func mustHaveFunction(isNil bool) {
	if isNil {
		panic("blocking: nil function")
	}
}

// SpawnIn calls fn on the pool, as a task of a JoinSet (Tokio's JoinSet::spawn_blocking). sp is
// the runtime, or the context of the spawning task. Aborting the task ends it at once with
// sched.ErrCanceled. A call that has not started is then not made. A started one goes on, and its
// result is dropped. Tokio's set waits for such a call; here Pool.Shutdown does.
func SpawnIn[T any](set *sched.JoinSet[T], sp sched.Spawner, p *Pool, fn func() (T, error)) sched.AbortHandle {
	return set.Spawn(sp, DoFuture(p, fn))
}

// A Call is a call that a task awaits. Unlike a Handle it belongs to one task, and abandoning it
// aborts the call. After it has returned its result, the next poll makes the call again, without
// an allocation.
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

// Poll submits the call at the first poll, and returns its result once it has ended.
func (c *Call[T]) Poll(cx *sched.Context) (T, error) {
	if !c.submitted {
		if !cx.Proceed() { // otherwise a loop of calls that end at once might never stop
			return *new(T), sched.ErrPending
		}
		c.submitted = true
		c.handle.submit(c.pool, c.fn, cx)
		if !c.handle.done.Load() {
			return *new(T), sched.ErrPending // the handle waits
		}
	}
	v, err := c.handle.Poll(cx)
	if err != sched.ErrPending {
		c.submitted = false
		c.handle.reset()
	}
	return v, err
}

// reset prepares the handle for the next call. Its last call has ended, and its result was taken.
func (h *Handle[T]) reset() {
	h.value, h.err = *new(T), nil
	h.done.Store(false)
}

// Cancel aborts the call. The future must not be polled again.
func (c *Call[T]) Cancel() {
	c.fn = nil
	if c.submitted {
		c.handle.Abort()
	}
}
