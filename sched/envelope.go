package sched

import (
	"runtime/debug"
	"slices"

	"github.com/suiro-go/suiro/internal/atomics"
)

// An envelope is the memory of a spawned task, whatever its result's type.
type envelope interface {
	Body

	// crashed makes an error the result of a run that did not return.
	crashed(err error)

	taskID() TaskID
	setID(id TaskID)

	// completed comes once, after the state word has become complete; word is
	// what it then was. The envelope may be another task's when it returns.
	completed(cx *Context, word uint64)
}

// A Releaser is a result that owns something. If nobody will take it because
// the task's handle was detached, Release is called, once, by the later of the two:
// the worker that ended the task, or whoever detached the handle.
type Releaser interface{ Release() }

// A cell is the envelope of a task with results of type T. Cells are recycled;
// the references in the state word say when. The scheduler holds one from the
// spawn until completed has returned, the JoinHandle one until it has taken the
// result or was detached. Wakers hold none: they know the generation, and who has
// scheduled a task finds it, since it cannot be over before it is queued; but at the
// runtime's end it can, see state.seize.
//
// value and err are written before the state becomes complete and read after.
//
// What every task touches comes first, on two or three lines of the cache: they
// move between processors when one spawns what the other runs. The rest keeps them
// apart from the next cell's.
type cell[T any] struct {
	task   Task
	depot  *depot[T]
	future Future[T]
	fn     func(*Context) (T, error) // of a stackful task
	err    error
	value  T
	waited bool // waiters is not empty
	first  bool // of its slab

	id      TaskID
	mu      atomics.Mutex
	waiters waiters // those to be woken on completion
}

// waiters are wakers, of which there is nearly always one at most.
type waiters struct {
	one  Waker
	more []Waker
}

func (ws *waiters) add(w Waker) {
	if ws.one == w || !ws.one.alive() {
		ws.one = w
		return
	}
	ws.more = slices.DeleteFunc(ws.more, func(m Waker) bool { return m == w || !m.alive() })
	ws.more = append(ws.more, w)
}

// Run polls the future. It is for the worker.
func (c *cell[T]) Run(cx *Context) (done bool) {
	if c.fn != nil {
		return c.runStackful(cx)
	}
	if dueToEnd(cx.word) {
		c.err = ErrCancelled
		c.drop()
		return true
	}
	v, err := c.future.Poll(cx)
	if err == ErrPending {
		return false
	}
	c.value, c.err = v, err
	return true
}

func (c *cell[T]) taskID() TaskID { return c.id }

func (c *cell[T]) setID(id TaskID) { c.id = id }

// drop abandons the future, once. A panic or an exit of its Cancel is the result, unless
// there is a panic already.
func (c *cell[T]) drop() {
	f, returned := c.future, false
	c.future = nil
	defer func() {
		if returned {
			return
		}
		err := ErrGoexit
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
		if _, already := c.err.(*PanicError); already {
			c.depot.rt.cfg.Logger.Error("sched: a task failed while it was dropped", "error", err)
		} else {
			c.err = err
		}
	}()
	abandon(f)
	returned = true
}

func (c *cell[T]) crashed(err error) {
	switch {
	case c.fn != nil:
		c.err = err
	case c.future != nil:
		c.err = err
		c.drop()
	} // else it was being dropped, and Cancel has ended the goroutine: drop has noted that
}

// end completes a task that no worker will run.
func (c *cell[T]) end(err error) {
	if c.task.state.seize() {
		c.ends(err)
	}
}

// refuse completes a task that no queue takes. It is for launch.
func (c *cell[T]) refuse(err error) {
	if c.task.state.seizeNew() {
		c.ends(err)
	}
}

func (c *cell[T]) ends(err error) {
	c.err = err
	defer func() { c.completed(nil, c.task.state.complete()) }() // also if Cancel exits the goroutine
	if c.fn == nil {
		c.drop()
	}
}

func (c *cell[T]) completed(cx *Context, word uint64) {
	c.future, c.fn = nil, nil
	if c.depot.rt.cfg.Hooks.TaskEnd == nil {
		c.finish(cx, word)
		return
	}
	defer c.finish(cx, word) // also if the hook ends the goroutine
	c.tellEnd()
}

// tellEnd calls the hook. A panic there concerns neither the task nor the worker.
func (c *cell[T]) tellEnd() {
	defer func() {
		if v := recover(); v != nil {
			c.depot.log("sched: a hook panicked", &PanicError{Value: v, Stack: debug.Stack()})
		}
	}()
	c.depot.rt.cfg.Hooks.TaskEnd(c.id, c.err)
}

// finish tells those who wait, and gives up the scheduler's reference.
func (c *cell[T]) finish(cx *Context, word uint64) {
	if word&joinInterest != 0 {
		c.mu.Lock()
		ws := c.waiters
		c.waiters = waiters{}
		c.mu.Unlock()
		wake(cx, ws.one)
		for _, w := range ws.more {
			wake(cx, w)
		}
	}
	d, value := c.depot, c.value
	release := word&detached != 0 && c.err == nil
	d.rt.taskEnded()
	if word>>40 == 1 || c.task.state.unref() { // nobody else can add one
		d.put(cx.on(d.rt), c)
	}
	if release { // last: it may not return
		d.release(value)
	}
}

func wake(cx *Context, w Waker) {
	if cx != nil {
		cx.Wake(w)
	} else {
		w.Wake()
	}
}

// release gives back a result that nobody takes.
func (d *depot[T]) release(value T) {
	if !d.releases {
		return
	}
	r, ok := any(value).(Releaser)
	if !ok {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			d.log("sched: releasing a task's result panicked", &PanicError{Value: v, Stack: debug.Stack()})
		}
	}()
	r.Release()
}

func (d *depot[T]) log(what string, err *PanicError) {
	d.rt.cfg.Logger.Error(what, "panic", err.Value, "stack", string(err.Stack))
}

// unref gives up the handle's reference.
func (c *cell[T]) unref(cx *Context) {
	if c.task.state.unref() {
		c.depot.put(cx.on(c.depot.rt), c)
	}
}

// on is the worker of a context, which may be nil, if it belongs to rt.
func (cx *Context) on(rt *Runtime) *worker {
	if cx == nil || cx.rt != rt {
		return nil
	}
	return cx.worker
}
