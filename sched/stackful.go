package sched

// Await suspends the stackful task that calls it until f is done, and returns its
// result. In a task that was aborted, or whose runtime closes, it returns
// ErrCancelled at once and abandons f: the task should then return. One that goes
// on to Await for more than a hundred times is ended as by runtime.Goexit. It
// panics if cx is not that of a stackful task: a stackless one polls, and an
// ordinary goroutine uses Block.
func Await[T any](cx *Context, f Future[T]) (T, error) {
	co := cx.coroutine
	if co == nil {
		panic("sched: Await needs the context of a task started by Go: a stackless task polls the future, an ordinary goroutine uses Block")
	}
	polled := false // to its end
	defer func() {
		if !polled { // cancelled, or its Poll panicked
			abandon(f)
		}
	}()
	for !cx.Cancelled() {
		v, err := f.Poll(cx)
		if err != ErrPending {
			polled = true
			return v, err
		}
		co.suspend()
	}
	co.cancelledAwait()
	return *new(T), ErrCancelled
}

// runStackful runs the task's function until it waits. The first run ties the
// task to the worker.
func (c *cell[T]) runStackful(cx *Context) (done bool) {
	w, co := cx.worker, c.coroutine
	if co == nil {
		if dueToEnd(cx.word) {
			c.err = ErrCancelled
			return true
		}
		co = w.stacks.get(w)
		w.stacks.hold(co)
		c.coroutine, c.task.home = co, w
		co.cx.task, co.job = &c.task, c
	}
	co.cx.budget = budgetPerRun
	co.resume()
	if co.job != nil {
		cx.deferred, cx.woken = co.cx.deferred, cx.woken || co.cx.woken
		co.cx.deferred, co.cx.woken = false, false
		return false
	}
	co.cx.deferred, co.cx.woken = false, false
	w.stacks.unhold(co)
	c.coroutine = nil
	w.stacks.put(w, co)
	return true
}

func (c *cell[T]) call(cx *Context) { c.value, c.err = c.fn(cx) }
