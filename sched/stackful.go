package sched

import (
	"context"

	"github.com/suiro-go/suiro/internal/ctxend"
	"github.com/suiro-go/suiro/internal/goid"
)

// Await waits until f is done, and returns f's result. With the context of a task, or one that was
// derived from it, it suspends that task. With any other context it blocks the calling goroutine.
// If ctx ends first, it abandons f, and returns an error that matches ctx.Err() and
// context.Cause(ctx). If f is done by then, its result wins. f is polled at least once.
//
// In a task that was aborted, or whose runtime closes, it returns ErrCanceled at once and abandons
// f. The task should then return. A task that calls Await more than a hundred times after that is
// ended as by runtime.Goexit.
//
// A task's context is for the function that it was given to, and what that calls. Elsewhere (in a
// goroutine, the function of a blocking call, a stackless task, another task) Await returns
// ErrMisuse, and f was not polled. With an ordinary context on a worker it returns ErrBlocksWorker
// if f has to wait.
//
// The deadline of a derived context is real time, also with a virtual clock (see Config.Paused). A
// call that waits with a derived context that can end costs about 0.5 µs and four allocations more,
// and from the third call in a row on with the same context nothing.
//
// A goroutine needs no runtime, and f finds none in the context. So f must be completed by others,
// as the wait for a lock or a channel is. A Sleep or a Timeout uses a timer of package time, but
// not a point in a runtime's time. In a bubble of testing/synctest, goroutines of the bubble must
// complete f. A worker of a runtime that was made outside would end the process; use Block there.
func Await[T any](ctx context.Context, f Future[T]) (T, error) {
	mustHaveFuture(f)
	cx, isTask := ctx.(*Context)
	if !isTask {
		if cx = contextOf(ctx); cx == nil && ctx != nil {
			return block(ctx, nil, nil, f)
		}
	}
	if !cx.mayAwait() {
		abandon(f)
		return *new(T), cx.misuse()
	}
	co := cx.coroutine
	polled := false // until done
	defer func() {
		if !polled { // canceled, or Poll panicked
			abandon(f)
		}
	}()
	if !isTask {
		defer cx.unfollow()
	}
	for !cx.Canceled() {
		v, err := f.Poll(cx)
		if err != ErrPending {
			polled = true
			return v, err
		}
		if !isTask {
			if ctx.Err() != nil {
				return *new(T), ctxend.Reason(ctx)
			}
			cx.follow(ctx)
		}
		if cx.defers {
			co.runDeferred()
		}
		if !co.waitInPlace() {
			co.suspend()
		}
	}
	co.canceledAwait()
	return *new(T), ErrCanceled
}

// mayAwait reports whether the function that the calling goroutine runs may wait with the context.
func (cx *Context) mayAwait() bool { return cx != nil && cx.coroutine != nil && cx.coroutine.runs(cx) }

// runs reports whether the calling goroutine runs the function that the context was given to.
func (co *coroutine) runs(cx *Context) bool { return co.id == goid.Get() && co.cx == cx }

// runStackful runs the task's function until it waits. From then on workers resume the coroutine
// (see worker.runBatch): any worker, unless workers are locked to threads.
func (c *cell[T]) runStackful(cx *Context) (done bool) {
	if dueToEnd(cx.word) {
		c.err = ErrCanceled
		return true
	}
	w := cx.worker
	co := w.stacks.get(w)
	c.task.coroutine = co
	if w.rt.cfg.locked {
		c.task.home = w
	}
	co.begin(cx, c)
	return co.resumeOn(w)
}

// unwind makes the function of a task return, so that its deferred calls run. The task is ended
// between two runs: its Await fails from now on.
func (w *worker) unwind(t *Task) {
	co := t.coroutine
	if co.job == nil {
		return
	}
	co.closing = true
	ended := co.resumeOn(w)
	co.closing = false
	if !ended { // cannot happen: Await gives up
		t.coroutine = nil
	}
}

// dismiss takes the coroutine from a task that is done.
func (w *worker) dismiss(t *Task) {
	co := t.coroutine
	t.coroutine = nil
	w.stacks.put(w, co)
}

func (c *cell[T]) call(cx *Context) {
	c.value, c.err = c.fn(cx)
	c.err = final(c.err)
	if cx.defers {
		cx.coroutine.runDeferred()
	}
	cx.over()
	c.future = nil
}
