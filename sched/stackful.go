package sched

// Await suspends the stackful task that calls it until f is done, and returns f's result. In a
// task that was aborted, or whose runtime closes, it returns ErrCanceled at once and abandons f.
// The task should then return. A task that calls Await more than a hundred times after that is
// ended as by runtime.Goexit. Await panics if cx does not belong to a stackful task: a stackless
// task polls, and an ordinary goroutine uses Block.
//
// cx must be the context of the function that waits. Await panics with the cx of an enclosing
// task, which is itself in a wait. It does not notice if a goroutine, or a task on another worker,
// uses the cx of a function that runs: the process may then end.
func Await[T any](cx *Context, f Future[T]) (T, error) {
	co := cx.coroutine
	if co == nil {
		panic("sched: Await needs the context of a task started by Go: a stackless task polls the future, an ordinary goroutine uses Block")
	}
	if !cx.active {
		panic("sched: Await with the context of another task: use the cx of the function that waits")
	}
	polled := false // until done
	defer func() {
		if !polled { // canceled, or Poll panicked
			abandon(f)
		}
	}()
	for !cx.Canceled() {
		v, err := f.Poll(cx)
		if err != ErrPending {
			polled = true
			return v, err
		}
		if co.cx.defers {
			co.runDeferred()
		}
		if !co.waitInPlace() {
			co.suspend()
		}
	}
	co.canceledAwait()
	return *new(T), ErrCanceled
}

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
	c.future = nil
}
