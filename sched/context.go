package sched

import "time"

// A Context is a running task's access to its runtime and worker. Go has no thread-locals, so it
// is passed as an argument. It is valid on that goroutine until Run or Poll returns; that of a
// stackful task until its function returns.
type Context struct {
	rt        *Runtime
	worker    *worker // nil: an ordinary goroutine, in Block
	task      *Task
	coroutine *coroutine // nil: not a stackful task
	word      uint64     // the task's state when its run began; of a stackful task, when its first run began
	budget    int32
	active    bool // its coroutine runs: the function is not waiting
	defers    bool // its coroutine has deferred work
}

// budgetPerRun is the budget of a run, after which the task must let others run (see Proceed).
const budgetPerRun = 128

// begin prepares the context for a run of a task.
func (cx *Context) begin(t *Task) {
	cx.task, cx.budget = t, budgetPerRun
	cx.word = t.state.start()
}

// Runtime is the runtime that the task runs in. In Block it is the one that was given to Block.
func (cx *Context) Runtime() *Runtime { return cx.rt }

// Worker is the index of the worker that runs the task, from 0; -1 in Block. The indices of spare
// workers follow the others: see Config.Spares. A stackful task may run on another worker after
// each wait.
func (cx *Context) Worker() int {
	if cx.worker == nil {
		return -1
	}
	return cx.worker.index
}

// Driver is the driver of the worker that runs the task; nil in Block.
func (cx *Context) Driver() Driver {
	if cx.worker == nil {
		return nil
	}
	return cx.worker.driver
}

// Now is the runtime's time (see Runtime.Now) as of the worker's current tick. As long as tasks
// are short it is off by well under a millisecond. It costs almost nothing. In Wait it is the time
// since the process began.
func (cx *Context) Now() time.Duration {
	switch {
	case cx.rt == nil:
		return outsideNow()
	case cx.worker == nil:
		return cx.rt.Now()
	}
	if w := cx.worker; w.nowStale {
		w.now, w.nowStale = w.rt.Now(), false
	}
	return cx.worker.now
}

// Waker is a waker of the running task.
func (cx *Context) Waker() Waker {
	return Waker{task: cx.task, generation: cx.task.generationOf(cx.word)}
}

// Wake is w.Wake from a task or a driver. The woken task runs on this worker soon, and no lock is
// taken, unless it is pinned elsewhere or another worker takes it first.
func (cx *Context) Wake(w Waker) {
	t := w.task
	if t != nil && t == cx.task && cx.worker != nil { // the task runs, so its generation is the waker's or a later one
		if t.generationOf(cx.word) == w.generation {
			cx.worker.woken = true
		}
		return
	}
	if w.mustQueue() {
		cx.queue(t)
	}
}

// queue queues a task whose state is scheduled.
func (cx *Context) queue(t *Task) {
	if cx.worker == nil || t.rt != cx.rt || t.home != nil && t.home != cx.worker {
		t.schedule()
		return
	}
	cx.worker.wake(t)
}

// Canceled reports that the task has been aborted and no shield is up: the task should end soon.
func (cx *Context) Canceled() bool {
	word := cx.task.state.word.Load()
	if co := cx.coroutine; co != nil && (co.closing || co.canceled && word&shieldMask == 0) {
		return true
	}
	return dueToEnd(word)
}

// Shield defers an abort of the running task until Unshield is called as often. Use it around work
// that must not be left half done. Shields may be nested, 255 deep.
func (cx *Context) Shield() { cx.task.state.shield() }

// Unshield ends one Shield. If that was the last one, and the task has been aborted, the task ends
// at its next suspension.
func (cx *Context) Unshield() { cx.task.lowered(cx.coroutine, cx.task.state.unshield()) }

// Serves reports whether a call that waits may suspend the task of w with this context. That is
// the case if cx is the context of the task's function, which runs now. So a type that keeps a
// function's context and waker can refuse a call from elsewhere. It is for functions of Go and of
// a Coroutine. It does not notice a call from another goroutine while the function runs; a wait
// would then end the process.
func (cx *Context) Serves(w Waker) bool {
	t := w.task // the state is checked first: cx is the worker's while the task runs
	return t != nil && t.is(w.generation) && t.state.isRunning(w.generation) && cx.active && cx.task == t
}

// Stackful reports whether a function may Await with the context.
func (cx *Context) Stackful() bool { return cx.coroutine != nil }

func (cx *Context) where() (*Runtime, *worker) { return cx.rt, cx.worker }
