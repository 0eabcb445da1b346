package sched

// A Coroutine is a function that awaits as part of a task whose Body is somebody
// else's: it runs within the runs of that Body, when Resume is called, and the waker
// of its context is the task's. So a Body can have one, or some, and still see itself
// what its task was woken for. The zero value is one that has not begun.
//
// Its methods are for the Body's Run, but Suspend. The first ties the task to the
// worker it runs on (see Task.Pin), because Go ties a coroutine to its thread.
type Coroutine struct {
	co  *coroutine // nil: its function has returned, or has not begun
	err error
}

// Begin calls fn, and returns when that waits for the first time, or has returned:
// then done is true. fn may use its context with Await, until it returns.
func (c *Coroutine) Begin(cx *Context, fn func(cx *Context) error) (done bool) {
	w := cx.worker
	co := w.stacks.get(w)
	w.stacks.hold(co)
	cx.task.home = w
	co.cx.task, co.cx.word, co.job, co.fn = cx.task, cx.word, c, fn
	c.co = co
	return c.Resume()
}

// Resume lets the function go on until it waits again. What it awaits is polled,
// whether or not the task was woken for that.
func (c *Coroutine) Resume() (done bool) {
	// This is inlined, as is Suspend: after a switch of stacks the processor predicts no
	// return right, so the fewer there are the better.
	if c.co != nil {
		c.co.goOn()
	}
	return c.co == nil
}

// Cancel has Await return ErrCancelled from now on, unless a shield is up, as in a task
// that was aborted. The next Resume tells the function.
func (c *Coroutine) Cancel() {
	if c.co != nil {
		c.co.cancelled = true
	}
}

// Suspend returns to the Body until the next Resume. It is for the function itself.
func (c *Coroutine) Suspend() { c.co.suspend() }

// Err is what the function has returned; a *PanicError, or ErrGoexit, if it did not.
func (c *Coroutine) Err() error { return c.err }

func (c *Coroutine) call(cx *Context) {
	c.err = final(c.co.fn(cx))
	c.leave()
}

func (c *Coroutine) crashed(err error) {
	c.err = err
	c.leave()
}

// leave gives the stack back, on which it runs itself: nobody uses it before it has
// switched to the worker.
func (c *Coroutine) leave() {
	co := c.co
	c.co, co.fn = nil, nil
	stacks := &co.cx.worker.stacks
	stacks.unhold(co)
	stacks.put(co.cx.worker, co)
}
