package sched

import (
	"context"
	"sync/atomic"

	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/internal/ctxend"
	"github.com/suiro-go/suiro/internal/goid"
	"github.com/suiro-go/suiro/internal/onworker"
)

// Block is Await for an f that needs a runtime: in a goroutine, f finds rt in its context. If rt
// closes, Block abandons f and returns ErrClosed. Block starts rt's workers. In a bubble of
// testing/synctest, ctx's deadline is real time if rt was made outside. With the context of a task,
// or one that was derived from it, Block is Await, and rt does not count.
func Block[T any](ctx context.Context, rt *Runtime, f Future[T]) (T, error) {
	mustHaveFuture(f)
	if !isOrdinary(ctx) {
		return Await(ctx, f)
	}
	if err := rt.Start(); err != nil {
		abandon(f)
		return *new(T), err
	}
	return block(ctx, rt, rt, f)
}

// A blocker is the task of a goroutine that blocks. It is never queued: to schedule it is to
// signal the goroutine, which then polls the future.
type blocker struct {
	task Task
	cx   Context
	ctx  context.Context // the context that was given to Block or Await
	woke chan struct{}

	id     atomic.Uintptr // goid.Get of the goroutine; 0: not in use
	pooled bool           // false: it was made in a bubble of testing/synctest, or its context was kept
}

// Run is never called: the goroutine polls the future itself.
func (b *blocker) Run(*Context) bool { return false }

func (b *blocker) signal() {
	b.holdClock()
	b.woke <- struct{}{} // there is room: it is scheduled once until it runs
}

// holdClock stops a virtual clock while the goroutine is about to run: from the signal until it
// waits again.
func (b *blocker) holdClock() {
	if b.cx.rt != nil {
		b.cx.rt.HoldClock()
	}
}

func (b *blocker) releaseClock() {
	if b.cx.rt != nil {
		b.cx.rt.ReleaseClock()
	}
}

func makeBlocker(woke chan struct{}) *blocker {
	b := &blocker{woke: woke}
	b.task.body = b
	b.cx.task = &b.task
	b.task.state.word.Store(stateComplete)
	return b
}

// getBlocker returns a blocker for a goroutine that waits for tasks of rt. In a bubble of
// testing/synctest the blocker is not pooled. Its channel belongs to the bubble, so that the
// bubble's time passes during the wait, unless rt's workers are outside.
func getBlocker(rt *Runtime) (b *blocker, inside bool) {
	inside = bubble.In()
	switch {
	case !inside:
		b = spareBlocker()
		b.pooled = true
	case rt == nil || rt.inside:
		b = makeBlocker(make(chan struct{}, 1))
	default:
		b = makeBlocker(bubble.Chan[struct{}](1))
	}
	b.task.renew(stateScheduled)
	return b, inside
}

// put gives the blocker to the next goroutine. It is called after everything that concerns the
// task: a future that is abandoned may still change the task's state, as Shield does. At this
// point nobody is about to signal the blocker: it runs, or it has received its signal. The
// generation makes wakers of the earlier task void, as it does for a spawned task.
func (b *blocker) put() {
	b.releaseClock()
	b.task.state.complete()
	b.id.Store(0)
	if !b.pooled { // its context may be in use
		return
	}
	b.cx.rt, b.cx.word, b.ctx = nil, 0, nil
	keepBlocker(b)
}

// block is Block, or Await of an ordinary goroutine if rt is nil. The workers of from complete f;
// nil: other goroutines do.
func block[T any](ctx context.Context, rt, from *Runtime, f Future[T]) (T, error) {
	var closed <-chan struct{}
	if rt != nil {
		closed = rt.stopped
	}
	b, inside := getBlocker(from)
	defer b.put()
	if inside && from != nil && from.real { // the bubble's time stands still while the workers run
		var release func()
		ctx, release = bubble.Context(ctx)
		defer release()
	}
	polled := false // f has returned its result
	defer func() {
		if !polled {
			abandon(f)
		}
	}()
	b.cx.rt, b.ctx = rt, ctx
	b.id.Store(goid.Get())
	b.holdClock()
	cx := &b.cx
	var ended error // why the wait ends early
	for {
		cx.budget, cx.word = budgetPerRun, b.task.state.start()
		v, err := f.Poll(cx)
		if err != ErrPending {
			polled = true
			return v, err
		}
		if ended != nil {
			return *new(T), ended
		}
		if b.task.state.suspend() { // f has woken the task meanwhile: do not wait
			select {
			case <-ctx.Done():
				ended = ctxend.Reason(ctx)
			case <-closed:
				ended = ErrClosed
			default:
			}
			continue
		}
		b.releaseClock()
		if ended = onworker.Wait(); ended == nil {
			select { // select picks any ready case: the last poll prefers the result
			case <-b.woke:
				continue
			case <-ctx.Done():
				ended = ctxend.Reason(ctx)
			case <-closed:
				ended = ErrClosed
			}
		}
		if b.task.state.wake(b.task.generation()) {
			b.holdClock()
			continue
		}
		<-b.woke // another goroutine has scheduled it
	}
}
