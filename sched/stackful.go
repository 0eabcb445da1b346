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
		if !co.waitInPlace() {
			co.suspend()
		}
	}
	co.cancelledAwait()
	return *new(T), ErrCancelled
}

// runStackful runs the task's function until it waits. This first run ties the task
// to the worker, which from then on lets the coroutine go on (see worker.runBatch).
func (c *cell[T]) runStackful(cx *Context) (done bool) {
	if dueToEnd(cx.word) {
		c.err = ErrCancelled
		return true
	}
	w := cx.worker
	co := w.stacks.get(w)
	w.stacks.hold(co)
	c.task.coroutine, c.task.home = co, w
	co.cx.task, co.cx.word, co.job = &c.task, cx.word, c
	return co.goOn()
}

// unwind has the function of a task that is ended between two runs return, so that its
// deferred calls run: its Await fails from now on.
func (w *worker) unwind(t *Task) {
	co := t.coroutine
	if co.job == nil {
		return
	}
	co.closing = true
	ended := co.goOn()
	co.closing = false
	if !ended { // cannot be: Await gives up
		w.stacks.unhold(co)
		t.coroutine = nil
	}
}

// dismiss takes its coroutine from a task that is done.
func (w *worker) dismiss(t *Task) {
	co := t.coroutine
	t.coroutine = nil
	w.stacks.unhold(co)
	w.stacks.put(w, co)
}

func (c *cell[T]) call(cx *Context) {
	c.value, c.err = c.fn(cx)
	c.err = final(c.err)
}
