package sched

import "fmt"

// A Coroutine is a function that may Await within a task that has its own Body. The function runs
// only while that Body calls Begin or Resume, and the waker of its context is the task's. So a
// Body can have one or several such functions, and still learns of each wake-up of its task. The
// zero value is a Coroutine that has not begun.
//
// All methods except BeforeSuspend are for the Body's Run. Begin panics elsewhere; the others cannot
// check it. Where workers are locked to threads, Begin ties the task to the worker that it runs on
// (see Task.Pin), because Go ties a coroutine to its thread. Where they are not, any worker may run
// the task next: see Go.
type Coroutine struct {
	co  *coroutine // nil: its function has returned, or has not begun
	err error
}

// Begin calls fn. It returns when fn waits for the first time, or has returned; in the latter case
// done is true. fn may use its context with Await until fn returns.
func (c *Coroutine) Begin(cx *Context, fn func(cx *Context) error) (done bool) {
	mustHaveFunction(fn == nil)
	w := cx.here()
	if w == nil {
		panic(fmt.Errorf("%w for sched.Coroutine.Begin: call it in a Body's Run, with the context of that run", ErrMisuse))
	}
	co := w.stacks.get(w)
	if w.rt.cfg.locked {
		cx.task.home = w
	}
	co.begin(cx, c)
	co.fn = fn
	c.co = co
	return c.Resume(cx)
}

// Resume continues the function until it waits again. Its awaited future is polled, whether or not
// the task was woken for it. cx is the context of the current run.
func (c *Coroutine) Resume(cx *Context) (done bool) {
	// This is inlined, as Suspension.Suspend is. After a switch of stacks the processor
	// mispredicts each return, so fewer frames are faster.
	if c.co != nil {
		c.co.cx.worker = cx.worker
		c.co.resume()
	}
	return c.co == nil
}

// Cancel makes Await return ErrCanceled from now on, as in a task that was aborted, unless a
// shield is up. The function sees this at the next Resume.
func (c *Coroutine) Cancel() {
	if c.co != nil {
		cx := c.co.cx
		cx.canceled.Store(true)
		cx.endIfCanceled()
	}
}

// Context is the context of the function; nil: the function has returned, or has not begun.
func (c *Coroutine) Context() *Context {
	if c.co == nil {
		return nil
	}
	return c.co.cx
}

// BeforeSuspend does the work that Context.Defer has postponed until a wait. The function can wait
// only through the Suspension that it returns, so no wait can skip that work. Only the function
// itself may call it.
func (c *Coroutine) BeforeSuspend() Suspension {
	if c.co.cx.defers {
		c.co.runDeferred()
	}
	return Suspension{c.co}
}

// A Suspension suspends the function of a Coroutine, once, right after the BeforeSuspend that
// returned it. Both methods are inlined, so that no frame is between.
type Suspension struct{ co *coroutine }

// Suspend returns to the Body until the next Resume.
func (s Suspension) Suspend() { s.co.suspend() }

// Err is the result of the function. It is a *PanicError or ErrGoexit if the function did not
// return.
func (c *Coroutine) Err() error { return c.err }

func (c *Coroutine) call(cx *Context) {
	c.err = final(c.co.fn(cx))
	if cx.defers {
		c.co.runDeferred()
	}
	cx.over()
	c.leave()
}

func (c *Coroutine) crashed(err error) {
	c.err = err
	c.leave()
}

// leave gives back the stack, while it still runs on that stack. Nobody else uses the stack before
// it has switched to the worker.
func (c *Coroutine) leave() {
	co := c.co
	c.co, co.fn = nil, nil
	w := co.cx.worker
	w.stacks.put(w, co)
}
