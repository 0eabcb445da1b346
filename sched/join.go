package sched

import "context"

// A JoinHandle is the other end of a spawned task. It is a Future of the task's
// result itself. All methods may be called from any goroutine, and at once,
// except that Detach must not be called at the same time as another.
type JoinHandle[T any] struct {
	mu    spinLock
	cell  *cell[T] // nil: the result has been taken, or the task detached
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
		c.waiters.add(cx.Waker()) // before asking to be woken: whoever completes then finds it
		c.mu.Unlock()
		if c.task.state.wantJoin() {
			return h.value, ErrPending
		}
	}
	h.value, h.err, h.cell = c.value, c.err, nil
	c.unref(cx)
	return h.value, h.err
}

// Wait blocks a goroutine, never a task, until the task is done and returns its
// result; ctx's error if that ends first. A task uses Await or polls. In a bubble of
// testing/synctest, ctx's deadline is real time if the task's runtime was made outside.
func (h *JoinHandle[T]) Wait(ctx context.Context) (T, error) {
	return block(ctx, nil, h.runtime(), Future[T](h))
}

// runtime is the task's; nil: there is a result.
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

// Abort has the task end with ErrCancelled: a stackless one instead of its next
// poll, a stackful one by what Await returns. It returns at once. A task that is
// done before stays as it is. See Context.Shield for how a task defers it.
func (h *JoinHandle[T]) Abort() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c := h.cell; c != nil {
		if c.task.state.cancel(c.task.generation()) {
			c.task.schedule()
		}
	}
}

// Detach gives up the result: the task goes on by itself, its result is released
// (see Releaser), and every other method of the handle returns ErrDetached.
func (h *JoinHandle[T]) Detach() {
	c := h.cell
	if c == nil {
		return
	}
	h.cell, h.err = nil, ErrDetached
	if word := c.task.state.detach(); word&lifecycleMask == stateComplete {
		d, value, err := c.depot, c.value, c.err
		c.unref(nil)
		if err == nil {
			d.release(value)
		}
	}
}

// forget takes the task, or its result, out of the handle.
func (h *JoinHandle[T]) forget() *cell[T] {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.cell
	h.cell, h.value, h.err = nil, *new(T), nil
	return c
}
