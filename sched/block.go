package sched

import (
	"context"

	"github.com/suiro-go/suiro/internal/bubble"
)

// Block polls f on the calling goroutine, which must not be a worker's, until it
// is done, and returns its result; with f abandoned, ctx's error if that ends
// first, and ErrClosed if rt closes. f finds rt in the context; its workers are
// started. In a bubble of testing/synctest, ctx's deadline is real time if rt was made outside.
func Block[T any](ctx context.Context, rt *Runtime, f Future[T]) (T, error) {
	if err := rt.Start(); err != nil {
		abandon(f)
		return *new(T), err
	}
	return block(ctx, rt, rt, f)
}

// Wait polls f on the calling goroutine, which must not be a worker's, until it is
// done, and returns its result; with f abandoned, ctx's error if that ends first.
// Unlike Block it needs no runtime: f finds none in the context, so it may be what
// others complete, as the wait for a lock or a channel is, but not a Sleep. Waiting
// allocates nothing. In a bubble of testing/synctest f must be what goroutines of the bubble
// complete: a worker of a runtime made outside would end the process; Block serves there.
func Wait[T any](ctx context.Context, f Future[T]) (T, error) { return block(ctx, nil, nil, f) }

// A blocker is the task of a goroutine that blocks. It is never queued: when it
// is scheduled, the goroutine is told, and runs it.
type blocker struct {
	task Task
	cx   Context
	woke chan struct{}
}

// Run is never called: the goroutine does it.
func (b *blocker) Run(*Context) bool { return false }

func (b *blocker) signal() {
	b.holdClock()
	b.woke <- struct{}{} // scheduled once until it runs, so there is room
}

// holdClock keeps a virtual clock from overtaking the goroutine, from when it is told
// until it waits again.
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
	b.task.state.word.Store(stateComplete)
	return b
}

// getBlocker returns one for a goroutine that waits for tasks of rt. In a bubble of
// testing/synctest its channel is the bubble's, so that time passes meanwhile, unless rt's workers
// are outside; and it is not pooled.
func getBlocker(rt *Runtime) (b *blocker, inside bool) {
	inside = bubble.In()
	switch {
	case !inside:
		b = spareBlocker()
	case rt == nil || rt.inside:
		b = makeBlocker(make(chan struct{}, 1))
	default:
		b = makeBlocker(bubble.Chan[struct{}](1))
	}
	b.task.renew(stateScheduled)
	return b, inside
}

// put gives the blocker to the next goroutine. It comes after all that concerns the task:
// a future that is abandoned may still change its state, as Shield does. When it comes
// nobody is about to signal the blocker, because it runs, or was told and has answered; and
// the generation makes wakers that were kept void, as it does for a spawned task.
func (b *blocker) put() {
	b.releaseClock()
	b.task.state.complete()
	b.cx = Context{}
	if !bubble.In() {
		keepBlocker(b)
	}
}

// block is Block, and Wait if rt is nil. The workers of from complete f; nil: other goroutines do.
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
	polled := false // to its end
	defer func() {
		if !polled {
			abandon(f)
		}
	}()
	b.cx = Context{rt: rt}
	b.holdClock()
	cx := &b.cx
	var ended error // why not to wait any longer
	for {
		cx.begin(&b.task)
		v, err := f.Poll(cx)
		if err != ErrPending {
			polled = true
			return v, err
		}
		if ended != nil {
			return *new(T), ended
		}
		if b.task.state.suspend() { // it has woken itself: do not wait
			select {
			case <-ctx.Done():
				ended = ctx.Err()
			case <-closed:
				ended = ErrClosed
			default:
			}
			continue
		}
		b.releaseClock()
		select { // picks any case that is ready: a last poll lets the result go first
		case <-b.woke:
			continue
		case <-ctx.Done():
			ended = ctx.Err()
		case <-closed:
			ended = ErrClosed
		}
		if b.task.state.wake(b.task.generation()) {
			b.holdClock()
			continue
		}
		<-b.woke // somebody else scheduled it
	}
}
