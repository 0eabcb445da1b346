package sched

import "context"

// A JoinHandle refers to a spawned task. It is a Future of the task's result. All methods may be
// called from any goroutine, and concurrently, except that Detach must not run concurrently with
// another method.
type JoinHandle[T any] struct {
	mu    spinLock
	cell  *cell[T] // nil: the result has been taken, or the task was detached
	value T
	err   error
}

// Poll makes the handle a future of the task's result.
func (h *JoinHandle[T]) Poll(cx *Context) (T, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.cell
	if c == nil {
		return h.value, h.err
	}
	if !c.task.state.isComplete() {
		c.mu.Lock()
		c.waited = true
		c.waiters.Add(cx.Waker()) // before wantJoin: the goroutine that completes the task then finds the waker
		c.mu.Unlock()
		if c.task.state.wantJoin() {
			return h.value, ErrPending
		}
	}
	h.value, h.err, h.cell = c.value, c.err, nil
	c.unref(cx)
	return h.value, h.err
}

// Wait is Await of the handle. If ctx ends first, it returns ctx's error, and the task goes on. On
// a worker with an ordinary context it returns ErrBlocksWorker, unless the task is done. In a
// bubble of testing/synctest, ctx's deadline is real time if the task's runtime was made outside.
func (h *JoinHandle[T]) Wait(ctx context.Context) (T, error) {
	if isOrdinary(ctx) {
		return block(ctx, nil, h.runtime(), Future[T](h))
	}
	return Await(ctx, Future[T](h))
}

// runtime is the task's runtime; nil: the result has been taken.
func (h *JoinHandle[T]) runtime() *Runtime {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cell == nil {
		return nil
	}
	return h.cell.task.rt
}

// Done reports whether the task is done.
func (h *JoinHandle[T]) Done() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cell == nil || h.cell.task.state.isComplete()
}

// Abort makes the task end with ErrCanceled. A stackless task ends instead of its next poll; in a
// stackful one, Await returns the error. Abort itself returns at once. It does not affect a task
// that is already done. A task that has not begun never runs. A task can defer an abort: see
// Context.Shield.
func (h *JoinHandle[T]) Abort() { h.taskWaker().abort() }

// taskWaker is a waker of the task; the zero value: the result has been taken.
func (h *JoinHandle[T]) taskWaker() Waker {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cell == nil {
		return Waker{}
	}
	return h.cell.task.Waker()
}

// abort aborts the waker's task. No lock is held, because ending a context calls functions of
// users.
func (w Waker) abort() {
	t := w.task
	if t == nil || !t.is(w.generation) {
		return
	}
	if t.state.cancel(w.generation) {
		t.schedule()
	}
	if t.state.endsContext(w.generation) {
		t.rt.contexts.abort(t, w.generation)
	}
}

// Detach gives up the result. The task goes on, its result is given back (see Releaser and Undoer),
// and every other method of the handle returns ErrDetached.
func (h *JoinHandle[T]) Detach() {
	c := h.cell
	if c == nil {
		return
	}
	h.cell, h.err = nil, ErrDetached
	if word := c.task.state.detach(); word&lifecycleMask == stateComplete {
		d, f, value, err := c.depot, c.future, c.value, c.err
		c.unref(nil)
		d.giveUp(f, value, err)
	}
}

// forget removes the task, or its result, from the handle.
func (h *JoinHandle[T]) forget() *cell[T] {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.cell
	h.cell, h.value, h.err = nil, *new(T), nil
	return c
}
