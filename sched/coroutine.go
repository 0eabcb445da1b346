package sched

import (
	"iter"
	"runtime"
	"runtime/debug"
)

// A coroutine is a stack for stackful tasks, one after the other. Go ties it to
// the locked thread that created it, so it belongs to one worker.
type coroutine struct {
	// One cache line, which is all of it that a switch needs.
	cx     Context
	resume func() (struct{}, bool)
	yield  func(struct{}) bool

	job     job                  // what it runs; nil: it is free
	fn      func(*Context) error // a Coroutine's
	stop    func()
	exited  bool // a task called runtime.Goexit: the stack is in its deferred calls for ever
	closing bool // the worker ends: Await returns at once

	cancelled bool // so it does for a Coroutine that was cancelled, but for shields

	prev, next *coroutine // in the list of those that are suspended
	ignored    int32      // Awaits since the task was cancelled
}

// A job is a stackful task, whatever its result's type, or a Coroutine. One of the two
// is the last that the coroutine does for it.
type job interface {
	call(cx *Context)
	crashed(err error)
}

func newCoroutine(w *worker) *coroutine {
	co := new(coroutine)
	co.cx = Context{rt: w.rt, worker: w, coroutine: co}
	co.resume, co.stop = iter.Pull(func(yield func(struct{}) bool) {
		co.yield = yield
		co.serve()
	})
	return co
}

// serve runs jobs until the coroutine is stopped.
func (co *coroutine) serve() {
	for {
		co.work()
		if !co.yield(struct{}{}) {
			return
		}
	}
}

// work runs one job. Neither a panic nor an exit gets past it: iter.Pull would
// pass both on to the worker. An exit cannot be stopped, but while its deferred
// calls run the stack is alive: the coroutine goes on serving in one of them.
func (co *coroutine) work() {
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			co.job.crashed(&PanicError{Value: v, Stack: debug.Stack()})
			co.job = nil
			return
		}
		co.exited = true
		co.job.crashed(ErrGoexit)
		co.job = nil
		if co.yield(struct{}{}) {
			co.serve()
		}
	}()
	co.cx.budget = budgetPerRun
	co.job.call(&co.cx)
	co.job = nil
	returned = true
}

// goOn lets the coroutine run its job until that waits or is done.
func (co *coroutine) goOn() (done bool) {
	co.resume()
	return co.job == nil
}

// suspend returns to the worker until the task is run again.
func (co *coroutine) suspend() {
	co.yield(struct{}{})
	co.cx.budget = budgetPerRun
}

// coroutines are a worker's.
type coroutines struct {
	free      []*coroutine // the last one used is used next; the first one goes when there are too many
	exited    []*coroutine // those whose end would be the worker's: used first
	suspended *coroutine   // those with a task that waits
}

// get is a free coroutine, or a new one.
func (cs *coroutines) get(w *worker) *coroutine {
	if co := popLast(&cs.exited); co != nil {
		return co
	}
	if co := popLast(&cs.free); co != nil {
		w.count.CoroutinesReused++
		return co
	}
	return newCoroutine(w)
}

func popLast(list *[]*coroutine) *coroutine {
	n := len(*list)
	if n == 0 {
		return nil
	}
	co := (*list)[n-1]
	(*list)[n-1] = nil
	*list = (*list)[:n-1]
	return co
}

// put takes a coroutine whose job is done.
func (cs *coroutines) put(w *worker, co *coroutine) {
	co.cx.task, co.ignored, co.cancelled = nil, 0, false
	if co.exited {
		cs.exited = append(cs.exited, co)
		return
	}
	if len(cs.free) >= w.rt.cfg.Coroutines {
		cs.free[0].stop()
		copy(cs.free, cs.free[1:])
		cs.free[len(cs.free)-1] = co
		return
	}
	cs.free = append(cs.free, co)
}

// hold notes that a coroutine has a task, unhold that it has none any more.
func (cs *coroutines) hold(co *coroutine) {
	co.prev, co.next = nil, cs.suspended
	if co.next != nil {
		co.next.prev = co
	}
	cs.suspended = co
}

func (cs *coroutines) unhold(co *coroutine) {
	if co.prev != nil {
		co.prev.next = co.next
	} else {
		cs.suspended = co.next
	}
	if co.next != nil {
		co.next.prev = co.prev
	}
	co.prev, co.next = nil, nil
}

// close unwinds the tasks that wait, so that their deferred calls run, and then
// ends the coroutines. What is called when a task has ended may end the goroutine.
func (cs *coroutines) close() {
	defer func() {
		if cs.suspended != nil {
			cs.close()
		}
	}()
	for co := cs.suspended; co != nil; co = cs.suspended {
		co.closing = true
		if c, ok := co.job.(*Coroutine); ok { // its task is not the worker's to end
			if !c.Resume() {
				cs.unhold(co) // cannot be: Await gives up
			}
			continue
		}
		t := co.cx.task
		if t.state.seize() && co.goOn() {
			co.cx.worker.dismiss(t)
			t.envelope().completed(nil, t.state.complete())
		} else {
			cs.unhold(co) // cannot be: Await gives up
		}
	}
	for co := popLast(&cs.free); co != nil; co = popLast(&cs.free) {
		co.stop()
	}
}

// closeExited ends the coroutines in which a task has called runtime.Goexit. Each
// of them has the calling goroutine exit as well, after its deferred calls.
func (cs *coroutines) closeExited() {
	if co := popLast(&cs.exited); co != nil {
		defer cs.closeExited()
		co.stop()
	}
}

// giveUpAfter is how many times a cancelled task may Await before it is
// unwound for good: it has ignored that Await fails.
const giveUpAfter = 128

// cancelledAwait counts those times.
func (co *coroutine) cancelledAwait() {
	co.ignored++
	if co.ignored > giveUpAfter {
		runtime.Goexit()
	}
}
