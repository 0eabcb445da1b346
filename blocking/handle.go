package blocking

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/internal/list"
	"github.com/suiro-go/suiro/internal/wakers"
	"github.com/suiro-go/suiro/sched"
)

// Submit calls fn on the pool, and returns at once. The handle's error is ErrClosed if the pool
// has been shut down. If the handle is dropped, the call is still made, and its result is dropped.
// A nil function panics.
func Submit[T any](p *Pool, fn func() (T, error)) *Handle[T] {
	mustHaveFunction(fn == nil)
	h := new(Handle[T])
	h.submit(p, fn, nil)
	return h
}

// A Handle represents a submitted call. It is a future of the call's result. All methods may be
// called from any goroutine, and concurrently. Abandoning a handle, for example in a Select, does
// not abort its call: Abort does.
type Handle[T any] struct {
	pool *Pool
	fn   func() (T, error)

	done         atomic.Bool // set once, under the pool's lock, after value and err
	value        T           // the pool's lock guards this and the fields below
	err          error
	waiters      wakers.Set[sched.Waker]
	clock        *sched.Runtime   // the runtime whose clock is held for the call; nil: none
	clocks       []*sched.Runtime // more of them
	bubbleWakers *bubbleWakers    // for waiters in bubbles that the pool's goroutines are not in
	node         list.Node[job]   // in the pool's queue
}

// submit queues the call. cx is the context of a task that waits from the beginning; nil: there is
// none.
func (h *Handle[T]) submit(p *Pool, fn func() (T, error), cx *sched.Context) {
	h.pool, h.fn = p, fn
	h.node.Value = h
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		h.refuse(ErrClosed)
		return
	}
	if !p.set {
		p.setUp()
	}
	if cx != nil {
		h.wait(cx)
	}
	t, start := p.submit(&h.node)
	p.mu.Unlock()
	p.awaken(t, start)
}

// run makes the call, on a thread of the pool.
func (h *Handle[T]) run(t *thread) {
	fn, exited := h.fn, true
	h.fn = nil
	defer func() {
		if exited {
			h.ended(t, *new(T), sched.ErrGoexit)
		}
	}()
	var v T
	var err error
	if p := try(func() { v, err = fn() }); p != nil {
		v, err = *new(T), p
	}
	exited = false
	if err == sched.ErrPending { // as a result it would make the waiter wait on
		err = sched.ErrPendingResult
	}
	h.ended(t, v, err)
}

// ended is called once, when the thread's call has ended.
func (h *Handle[T]) ended(t *thread, v T, err error) {
	p := h.pool
	p.mu.Lock()
	if !h.done.Load() {
		other, start := p.end(t)
		h.finish(v, err)
		p.awaken(other, start)
		return
	}
	defer func() { // deferred, in case Release exits the goroutine
		p.mu.Lock()
		other, start := p.end(t)
		p.mu.Unlock()
		p.awaken(other, start)
	}()
	rt := h.clock
	h.finish(v, err) // too late: nobody takes the result
	if late, ok := err.(*sched.PanicError); ok {
		logPanic(rt, "blocking: a call that nobody waits for panicked", late)
	}
	if failed := try(sched.Result[T]{Value: v, Err: err}.Release); failed != nil {
		logPanic(rt, "blocking: releasing a call's result panicked", failed)
	}
}

// refuse ends a call that is not made.
func (h *Handle[T]) refuse(err error) {
	h.pool.mu.Lock()
	h.finish(*new(T), err)
}

// finish is called once, when the call has ended or will not be made. It publishes the result,
// unless there is one already, and then releases the clocks. In this order a woken task does not
// find a later time. The caller holds the pool's lock; finish releases it. When finish returns,
// the handle may be in use again.
func (h *Handle[T]) finish(v T, err error) {
	p := h.pool
	h.fn = nil // also of a call that is not made: a handle may be kept for its result
	waiters := h.resolve(v, err)
	clock, clocks := h.clock, h.clocks
	h.clock, h.clocks = nil, nil
	if h.bubbleWakers != nil {
		close(h.bubbleWakers.ended)
		h.bubbleWakers = nil
	}
	p.mu.Unlock()
	waiters.Each(sched.Waker.Wake)
	if clock != nil {
		clock.ReleaseClock()
	}
	for _, rt := range clocks {
		rt.ReleaseClock()
	}
}

// resolve sets the result unless there is one, and returns the wakers to wake. The lock is held.
func (h *Handle[T]) resolve(v T, err error) (waiters wakers.Set[sched.Waker]) {
	if h.done.Load() {
		return waiters
	}
	h.value, h.err = v, err
	h.done.Store(true)
	waiters, h.waiters = h.waiters, waiters
	if h.bubbleWakers != nil {
		close(h.bubbleWakers.resolved)
	}
	return waiters
}

// Poll returns the call's result once the call has ended. Further polls return the same result.
func (h *Handle[T]) Poll(cx *sched.Context) (T, error) {
	if h.done.Load() {
		return h.value, h.err
	}
	h.pool.mu.Lock()
	defer h.pool.mu.Unlock()
	if h.done.Load() {
		return h.value, h.err
	}
	h.wait(cx)
	return *new(T), sched.ErrPending
}

// wait stores the waker of the task, and stops the clock of its runtime. The lock is held.
func (h *Handle[T]) wait(cx *sched.Context) {
	if h.pool.outside && bubble.In() {
		h.waitInBubble(cx)
		return
	}
	h.waiters.Add(cx.Waker())
	switch rt := cx.Runtime(); {
	case rt == nil || h.clock == rt || slices.Contains(h.clocks, rt):
	case h.clock == nil:
		h.clock = rt
		rt.HoldClock()
	default:
		h.clocks = append(h.clocks, rt)
		rt.HoldClock()
	}
}

// Wait awaits the end of the call, and returns its result (see sched.Await). If ctx ends first, it
// returns ctx's error, and the call goes on.
func (h *Handle[T]) Wait(ctx context.Context) (T, error) {
	ctx, release := h.pool.realTime(ctx)
	defer release()
	return sched.Await(ctx, h)
}

// Done reports whether there is a result.
func (h *Handle[T]) Done() bool { return h.done.Load() }

// Abort makes sched.ErrCanceled the result, unless there is a result. It reports whether it
// prevented the call. A started call goes on, and its result is dropped: it is released if it is a
// sched.Releaser.
func (h *Handle[T]) Abort() (prevented bool) {
	p := h.pool
	p.mu.Lock()
	if p.queue.Remove(&h.node) {
		h.finish(*new(T), sched.ErrCanceled)
		return true
	}
	waiters := h.resolve(*new(T), sched.ErrCanceled)
	p.mu.Unlock()
	waiters.Each(sched.Waker.Wake)
	return false
}
