package blocking

import (
	"context"
	"runtime/debug"
	"slices"
	"sync/atomic"

	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/internal/list"
	"github.com/suiro-go/suiro/sched"
)

// Submit has the pool call fn, and returns at once. The handle's error is ErrClosed if
// the pool has been shut down. The call is made, and its result dropped, if the handle
// is forgotten.
func Submit[T any](p *Pool, fn func() (T, error)) *Handle[T] {
	h := new(Handle[T])
	h.submit(p, fn, nil)
	return h
}

// A Handle stands for a call that was submitted. It is a future of the call's result.
// All methods may be called from any goroutine, and at once. A handle that lost a race
// or was abandoned in another way does not abort its call: Abort does.
type Handle[T any] struct {
	pool *Pool
	fn   func() (T, error)

	done     atomic.Bool // set once, under the pool's lock, after value and err
	value    T           // the pool's lock guards this and what follows
	err      error
	waker    sched.Waker
	more     []sched.Waker
	clock    *sched.Runtime   // whose clock is held for the call; nil: none
	clocks   []*sched.Runtime // more of them
	couriers *couriers        // of waiters in bubbles that the pool's goroutines are not in
	node     list.Node[job]   // in the pool's queue
}

// submit queues the call. cx is that of whoever waits for it from the beginning; nil:
// nobody.
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
	fn, returned := h.fn, false
	h.fn = nil
	defer func() {
		if returned {
			return
		}
		err := sched.ErrGoexit
		if v := recover(); v != nil {
			err = &sched.PanicError{Value: v, Stack: debug.Stack()}
		}
		h.ended(t, *new(T), err)
	}()
	v, err := fn()
	returned = true
	if err == sched.ErrPending { // which would be no result: whoever waits would go on
		err = sched.ErrPendingResult
	}
	h.ended(t, v, err)
}

// ended comes once, when the call that the thread has made has ended.
func (h *Handle[T]) ended(t *thread, v T, err error) {
	p := h.pool
	p.mu.Lock()
	if !h.done.Load() {
		other, start := p.end(t)
		h.finish(v, err)
		p.awaken(other, start)
		return
	}
	defer func() { // also if Release exits the goroutine
		p.mu.Lock()
		other, start := p.end(t)
		p.mu.Unlock()
		p.awaken(other, start)
	}()
	h.finish(v, err) // too late: nobody takes the result
	if err == nil {
		if r, ok := any(v).(sched.Releaser); ok {
			release(r)
		}
	}
}

// release drops a result. Nobody is left to be told of a panic, and the pool lives.
func release(r sched.Releaser) {
	defer func() { _ = recover() }()
	r.Release()
}

// refuse ends a call that is not made.
func (h *Handle[T]) refuse(err error) {
	h.pool.mu.Lock()
	h.finish(*new(T), err)
}

// finish comes once, when the call has ended or will not be made. It makes the result
// known, unless it comes too late for that, and lets the clocks go on, in this order:
// what is woken must not find that it is later. The pool's lock is held, and is not any
// more when it returns; the handle may be in use again then.
func (h *Handle[T]) finish(v T, err error) {
	p := h.pool
	w, more := h.resolve(v, err)
	clock, clocks := h.clock, h.clocks
	h.clock, h.clocks = nil, nil
	if h.couriers != nil {
		close(h.couriers.ended)
		h.couriers = nil
	}
	p.mu.Unlock()
	wakeAll(w, more)
	if clock != nil {
		clock.ReleaseClock()
	}
	for _, rt := range clocks {
		rt.ReleaseClock()
	}
}

// resolve sets the result unless there is one, and returns whom to wake. The lock is
// held.
func (h *Handle[T]) resolve(v T, err error) (w sched.Waker, more []sched.Waker) {
	if h.done.Load() {
		return w, nil
	}
	h.value, h.err = v, err
	h.done.Store(true)
	w, more = h.waker, h.more
	h.waker, h.more = sched.Waker{}, nil
	if h.couriers != nil {
		close(h.couriers.resolved)
	}
	return w, more
}

func wakeAll(w sched.Waker, more []sched.Waker) {
	w.Wake()
	for _, w := range more {
		w.Wake()
	}
}

// Poll is the call's result, once it has ended. The result stays.
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

// wait notes whom to wake, and has that one's clock stand still. The lock is held.
func (h *Handle[T]) wait(cx *sched.Context) {
	if h.pool.outside && bubble.In() {
		h.waitInBubble(cx)
		return
	}
	switch w := cx.Waker(); {
	case h.waker == w || slices.Contains(h.more, w):
	case h.waker == (sched.Waker{}):
		h.waker = w
	default:
		h.more = append(h.more, w)
	}
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

// Wait blocks a goroutine, never a task, until the call has ended, and returns its
// result; ctx's error if that ends first, and the call then goes on.
func (h *Handle[T]) Wait(ctx context.Context) (T, error) {
	ctx, release := h.pool.realTime(ctx)
	defer release()
	return sched.Wait(ctx, h)
}

// Done reports whether there is a result.
func (h *Handle[T]) Done() bool { return h.done.Load() }

// Abort has the result be sched.ErrCancelled if there is none yet, at once. It reports
// whether it was in time to prevent the call: one that has started goes on to its end,
// and its result is dropped, that is, released if it is a sched.Releaser.
func (h *Handle[T]) Abort() (prevented bool) {
	p := h.pool
	p.mu.Lock()
	if p.queue.Remove(&h.node) {
		h.finish(*new(T), sched.ErrCancelled)
		return true
	}
	w, more := h.resolve(*new(T), sched.ErrCancelled)
	p.mu.Unlock()
	wakeAll(w, more)
	return false
}
