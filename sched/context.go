package sched

import "time"

// A Context is what a running task knows of the world: Go has no thread-locals,
// so it is passed. It is valid until Run or Poll returns, on that goroutine; that
// of a stackful task until its function returns.
type Context struct {
	rt        *Runtime
	worker    *worker // nil: an ordinary goroutine, in Block
	task      *Task
	coroutine *coroutine // nil: not a stackful task
	word      uint64     // the task's state when its run, or that of a stackful task its first, began
	budget    int
}

// budgetPerRun is how much a task may do before it has to let others run.
const budgetPerRun = 128

// begin prepares the context for a run of a task.
func (cx *Context) begin(t *Task) {
	cx.task, cx.budget = t, budgetPerRun
	cx.word = t.state.start()
}

// Runtime is the runtime the task runs in; in Block, the one that was given.
func (cx *Context) Runtime() *Runtime { return cx.rt }

// Worker is the index of the worker that runs the task, from 0; -1 in Block.
func (cx *Context) Worker() int {
	if cx.worker == nil {
		return -1
	}
	return cx.worker.index
}

// Driver is that worker's driver; nil in Block.
func (cx *Context) Driver() Driver {
	if cx.worker == nil {
		return nil
	}
	return cx.worker.driver
}

// Now is the runtime's time (see Runtime.Now) as of the worker's current tick:
// good to well under a millisecond as long as tasks are short, and nearly free.
func (cx *Context) Now() time.Duration {
	if cx.worker == nil {
		return cx.rt.Now()
	}
	if w := cx.worker; w.late {
		w.now, w.late = w.rt.Now(), false
	}
	return cx.worker.now
}

// Waker wakes the running task.
func (cx *Context) Waker() Waker {
	return Waker{task: cx.task, generation: cx.task.generationOf(cx.word)}
}

// Wake is w.Wake from a task or a driver: what it wakes runs on this worker soon,
// without a lock, unless it is pinned elsewhere or another worker is quicker.
func (cx *Context) Wake(w Waker) {
	t := w.task
	if t != nil && t == cx.task && cx.worker != nil { // it runs, so its generation is the waker's or a later one
		if t.generationOf(cx.word) == w.generation {
			cx.worker.woken = true
		}
		return
	}
	if w.mustQueue() {
		cx.queue(t)
	}
}

// queue queues a task that has been scheduled.
func (cx *Context) queue(t *Task) {
	if cx.worker == nil || t.rt != cx.rt || t.home != nil && t.home != cx.worker {
		t.schedule()
		return
	}
	cx.worker.wake(t)
}

// Cancelled reports that the task has been aborted and no shield is up: it should
// come to its end.
func (cx *Context) Cancelled() bool {
	word := cx.task.state.word.Load()
	if co := cx.coroutine; co != nil && (co.closing || co.cancelled && word&shieldMask == 0) {
		return true
	}
	return dueToEnd(word)
}

// Shield defers an abort of the running task until as many calls of Unshield:
// for what must not be left half done. It may be nested, 255 deep.
func (cx *Context) Shield() { cx.task.state.shield() }

// Unshield takes back one Shield. If that was the last one, and the task has been
// aborted, it ends at its next suspension.
func (cx *Context) Unshield() { cx.task.state.unshield() }

func (cx *Context) where() (*Runtime, *worker) { return cx.rt, cx.worker }
