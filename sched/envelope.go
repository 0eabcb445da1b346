package sched

import (
	"github.com/suiro-go/suiro/internal/atomics"
	"github.com/suiro-go/suiro/internal/wakers"
)

// An envelope is the memory of a spawned task, with a result of any type.
type envelope interface {
	Body

	// crashed makes an error the result of a run that did not return.
	crashed(err error)

	taskID() TaskID
	setID(id TaskID)

	// completed is called once, after the state word has become complete. word is its value at
	// that moment. When completed returns, the envelope may belong to another task.
	completed(cx *Context, word uint64)
}

// A cell is the envelope of a task with results of type T. Cells are recycled; the reference count
// in the state word decides when. The scheduler holds one reference from the spawn until completed
// has returned. The JoinHandle holds one until it has taken the result or was detached. Wakers
// hold none: they know the generation. A waker that has scheduled a task can still reach it, since
// a task cannot end before it is queued. Only at the runtime's end it can: see state.seize.
//
// value, err and future are written before the state becomes complete, and read after.
//
// The fields that every task uses come first, on two or three cache lines. These lines move
// between processors when one processor spawns the task and another runs it. The other fields
// separate them from those of the next cell.
type cell[T any] struct {
	task   Task
	depot  *depot[T]
	future Future[T]                 // once the task is done: only if it can undo the result
	fn     func(*Context) (T, error) // of a stackful task
	err    error
	value  T
	waited bool // waiters is not empty
	first  bool // it is the first cell of its slab

	id      TaskID
	mu      atomics.Mutex
	waiters wakers.Set[Waker] // the wakers to wake on completion
}

// Run polls the future. Workers call it.
func (c *cell[T]) Run(cx *Context) (done bool) {
	if c.fn != nil {
		return c.runStackful(cx)
	}
	if dueToEnd(cx.word) {
		c.err = ErrCanceled
		c.drop()
		return true
	}
	v, err := c.future.Poll(cx)
	if err == ErrPending {
		return false
	}
	c.value, c.err = v, err
	if _, ok := c.future.(Undoer); !ok {
		c.future = nil
	}
	return true
}

func (c *cell[T]) taskID() TaskID { return c.id }

func (c *cell[T]) setID(id TaskID) { c.id = id }

// drop abandons the future, once. A panic or runtime.Goexit of its Cancel becomes the result,
// unless there is a panic already.
func (c *cell[T]) drop() {
	f, exited := c.future, true
	c.future = nil
	defer func() {
		if exited {
			c.failed(ErrGoexit)
		}
	}()
	p := try(func() { abandon(f) })
	exited = false
	if p != nil {
		c.failed(p)
	}
}

// failed makes the error of a drop the result, unless there is a panic already.
func (c *cell[T]) failed(err error) {
	if _, already := c.err.(*PanicError); !already {
		c.err = err
	} else if p, ok := err.(*PanicError); ok {
		c.depot.rt.LogPanic("sched: a task that had panicked did so again while it was dropped", p)
	} else {
		c.depot.rt.cfg.Logger.Error("sched: a task failed while it was dropped", "error", err)
	}
}

func (c *cell[T]) crashed(err error) {
	switch {
	case c.fn != nil:
		c.err, c.future = err, nil
	case c.future != nil:
		c.err = err
		c.drop()
	} // else Cancel has ended the goroutine during drop, which has stored the error
}

// end completes a task that no worker will run.
func (c *cell[T]) end(err error) {
	if c.task.state.seize() {
		c.ends(err)
	}
}

// refuse completes a task that no queue accepts. launch calls it.
func (c *cell[T]) refuse(err error) {
	if c.task.state.seizeNew() {
		c.ends(err)
	}
}

func (c *cell[T]) ends(err error) {
	c.err = err
	defer func() { c.completed(nil, c.task.state.complete()) }() // deferred, in case Cancel exits the goroutine
	if c.fn == nil {
		c.drop()
	} else {
		c.future = nil
	}
}

func (c *cell[T]) completed(cx *Context, word uint64) {
	c.fn = nil
	if c.depot.rt.cfg.Hooks.TaskEnd == nil {
		c.finish(cx, word)
		return
	}
	defer c.finish(cx, word) // deferred, in case the hook exits the goroutine
	defer cx.outsideRun()()
	c.tellEnd()
}

// tellEnd calls the hook. A panic of the hook affects neither the task nor the worker.
func (c *cell[T]) tellEnd() {
	rt := c.depot.rt
	if p := try(func() { rt.cfg.Hooks.TaskEnd(c.id, c.err) }); p != nil {
		rt.LogPanic("sched: a hook panicked", p)
	}
}

// finish wakes the waiters, and gives up the scheduler's reference.
func (c *cell[T]) finish(cx *Context, word uint64) {
	if word&joinInterest != 0 {
		c.mu.Lock()
		ws := c.waiters
		c.waiters = wakers.Set[Waker]{}
		c.mu.Unlock()
		ws.Each(func(w Waker) { wake(cx, w) })
	}
	d, f, value, err := c.depot, c.future, c.value, c.err
	if word&counted != 0 {
		d.rt.drain.ended()
	}
	if word>>40 == 1 || c.task.state.unref() { // nobody else can add one
		d.put(cx.on(d.rt), c)
	}
	if word&detached == 0 {
		return
	}
	if f != nil || d.releases {
		defer cx.outsideRun()()
	}
	d.giveUp(f, value, err) // last, because it may not return
}

func wake(cx *Context, w Waker) {
	if cx != nil {
		cx.Wake(w)
	} else {
		w.Wake()
	}
}

// giveUp gives back a result that nobody takes. f is the future that can undo it, or nil. If the
// result is a panic, the panic is logged.
func (d *depot[T]) giveUp(f Future[T], value T, err error) {
	d.rt.logLost(err)
	if f == nil && !d.releases {
		return
	}
	if p := try(func() { drop(f, value, err) }); p != nil {
		d.rt.LogPanic("sched: releasing a task's result panicked", p)
	}
}

// logLost logs the error of a task that nobody takes, if that is a panic.
func (rt *Runtime) logLost(err error) {
	if p, ok := err.(*PanicError); ok {
		rt.LogPanic("sched: a task panicked, and nobody takes its result", p)
	}
}

// unref gives up the handle's reference.
func (c *cell[T]) unref(cx *Context) {
	if c.task.state.unref() {
		c.depot.put(cx.on(c.depot.rt), c)
	}
}

// on is the worker that runs the caller if that belongs to rt, else nil. cx may be nil.
func (cx *Context) on(rt *Runtime) *worker {
	if cx == nil || cx.rt != rt {
		return nil
	}
	return cx.here()
}
