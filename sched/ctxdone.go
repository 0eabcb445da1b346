package sched

import "context"

// Done is a future that is done when ctx ends. It never fails: context.Cause gives the reason. It
// waits by context.AfterFunc. For contexts of package context, CancellationToken and Context that
// needs no goroutine; a context of another type may cost one for the wait. When ctx ends, the
// wake-up takes a goroutine for a moment. A dropped Done leaves nothing behind in ctx. A context
// that never ends costs nothing.
//
// A deadline of ctx is real time, also with a virtual clock (see Config.Paused).
func Done(ctx context.Context) Future[struct{}] {
	if token, ok := ctx.(tokenContext); ok {
		return token.token.Canceled()
	}
	return &ctxDone{ctx: ctx}
}

type ctxDone struct {
	ctx   context.Context
	waker Waker       // the waker that stop belongs to
	stop  func() bool // nil: it does not wait
}

func (d *ctxDone) Poll(cx *Context) (struct{}, error) {
	if d.ctx.Err() != nil {
		d.Cancel()
		return struct{}{}, nil //nolint:nilerr // the end of ctx is what the future waits for, not a failure
	}
	if w := cx.Waker(); d.ctx.Done() != nil && (d.stop == nil || w != d.waker) {
		d.Cancel()
		d.waker = w
		d.stop = context.AfterFunc(d.ctx, w.Wake) // runs at once if ctx has ended since
	}
	return struct{}{}, ErrPending
}

// Cancel ends the wait.
func (d *ctxDone) Cancel() {
	if d.stop != nil {
		d.stop()
		d.stop = nil
	}
}

// WithContext is f until ctx ends. Then f is abandoned, and the error is ctx's. It is for a
// future beside others, and for a ctx that is not the task's: Await itself takes a derived context.
// If f is done by then, its result wins. If ctx
// has ended before the first poll, f is polled once. If f is not done at its first poll, the cost
// is that of Done. A context that never ends costs nothing.
func WithContext[T any](ctx context.Context, f Future[T]) Future[T] {
	mustHaveFuture(f)
	if ctx.Done() == nil {
		return f
	}
	return &withContext[T]{branch: branch[T]{f: f}, ctx: ctx, over: Done(ctx)}
}

type withContext[T any] struct {
	branch[T]
	ctx  context.Context
	over Future[struct{}] // Done of ctx
}

func (w *withContext[T]) Poll(cx *Context) (T, error) {
	v, err := w.poll(cx)
	if err != ErrPending {
		abandon(w.over)
		return v, err
	}
	if _, err := w.over.Poll(cx); err == ErrPending {
		return v, ErrPending
	}
	w.cancel()
	return *new(T), w.ctx.Err()
}

// Cancel abandons f and ends the wait for ctx.
func (w *withContext[T]) Cancel() {
	defer w.cancel()
	abandon(w.over)
}
