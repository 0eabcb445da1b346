package sched

import (
	"context"
	"time"

	"github.com/suiro-go/suiro/internal/atomics"
	"github.com/suiro-go/suiro/internal/goid"
)

// A Context is a running task's access to its runtime and worker. Go has no thread-locals, so it
// is passed as an argument. It is also the context.Context of its task: see Done. Await, and all
// calls that wait, take it or a context that was derived from it, and suspend the task.
//
// A function of Go has a Context of its own. Its methods that context.Context has, and Runtime, may
// be called by any goroutine and at any time. So may Go, Spawn, Wake, Now and BlockInPlace: they do
// there what they do without a task. The others are for the function itself, until it returns. The
// Context of a Poll belongs to its worker, and is valid until the Poll returns. A
// context that was derived from it ends with the task, but finds the values of the task's parent
// only until then: WithoutTask keeps them.
type Context struct {
	rt        *Runtime
	worker    *worker // nil: an ordinary goroutine
	task      *Task
	coroutine *coroutine // nil: not a stackful task
	word      uint64     // the task's state when its run began; of a stackful task, when its first run began
	budget    int32
	defers    bool // its coroutine has deferred work

	canceled atomics.Bool                 // Coroutine.Cancel: Await returns at once, unless a shield is up
	made     atomics.Pointer[taskContext] // of a function: its context.Context; nil: nobody needed it yet
	followed followed
}

// budgetPerRun is the budget of a run, after which the task must let others run (see Proceed).
const budgetPerRun = 128

// begin prepares the context for a run of a task.
func (cx *Context) begin(t *Task) {
	cx.task, cx.budget = t, budgetPerRun
	cx.word = t.state.start()
}

// FromContext is the Context of the calling task, if that is ctx or if ctx was derived from it;
// nil: it is not, or the caller is no task. So a type that keeps a function's context can refuse a
// call from elsewhere: from another goroutine or task, or after the function has returned. Any
// goroutine may call it.
func FromContext(ctx context.Context) *Context {
	cx, ok := ctx.(*Context)
	if !ok {
		cx = contextOf(ctx)
	}
	switch {
	case cx == nil:
		return nil
	case cx.coroutine != nil: // as isHere, without a call
		if cx.coroutine.runs(cx) {
			return cx
		}
		return nil
	case cx.isHere():
		return cx
	}
	return nil
}

// isOrdinary reports whether ctx is neither nil nor a task's.
func isOrdinary(ctx context.Context) bool {
	_, isTask := ctx.(*Context)
	return !isTask && ctx != nil && contextOf(ctx) == nil
}

// contextOf is the Context from which ctx was derived; nil: none, or WithoutTask took it away.
func contextOf(ctx context.Context) *Context {
	if ctx == nil {
		return nil
	}
	cx, _ := ctx.Value(taskKey{}).(*Context)
	return cx
}

// taskKey is the key of the Context among the values of the contexts that were derived from it.
type taskKey struct{}

// WithoutTask is ctx for another goroutine: it has ctx's end, deadline and values, but not its
// task. So calls that wait with it block the goroutine. Of the Context of a Poll it makes a context
// that is good until the task has ended; call it in the Poll.
func WithoutTask(ctx context.Context) context.Context {
	switch cx, isTask := ctx.(*Context); {
	case ctx == nil || isTask && cx == nil:
		return nil
	case isTask && cx.coroutine == nil:
		ctx = cx.make()
	case !isTask:
		if of := contextOf(ctx); of != nil {
			of.keep()
		}
	}
	return withoutTask{ctx}
}

type withoutTask struct{ context.Context }

func (c withoutTask) Value(key any) any {
	if key == (taskKey{}) {
		return nil
	}
	return c.Context.Value(key)
}

// isHere reports whether the calling goroutine runs the code that the context was given to.
func (cx *Context) isHere() bool {
	if cx.coroutine != nil {
		return cx.coroutine.runs(cx)
	}
	if cx.worker != nil {
		return cx.worker.id == goid.Get() && cx.task != nil
	}
	b, ok := cx.task.body.(*blocker)
	return ok && b.id.Load() == goid.Get()
}

// Runtime is the runtime that the task runs in. In Block it is the one that was given to Block.
func (cx *Context) Runtime() *Runtime { return cx.rt }

// Worker is the index of the worker that runs the task, from 0; -1 on an ordinary goroutine. The
// indices of spare workers follow the others: see Config.Spares. A stackful task may run on another
// worker after each wait. In another goroutine or task than the context's it is -1.
func (cx *Context) Worker() int {
	if w := cx.here(); w != nil {
		return w.index
	}
	return -1
}

// Driver is the driver of the worker that runs the task; nil on an ordinary goroutine, and in
// another goroutine or task than the context's.
func (cx *Context) Driver() Driver {
	if w := cx.here(); w != nil {
		return w.driver
	}
	return nil
}

// here is the worker that runs the caller; nil: the caller is an ordinary goroutine, or not the
// function that the context was given to. Only that function may read the worker: others resume it
// meanwhile. That the context of a Poll is used in the Poll is not checked. A driver uses it for
// each event, where the check would cost several percent.
func (cx *Context) here() *worker {
	if co := cx.coroutine; co != nil && !co.runs(cx) {
		return nil
	}
	return cx.worker
}

// Now is the runtime's time (see Runtime.Now) as of the worker's current tick. As long as tasks
// are short it is off by well under a millisecond. It costs almost nothing. In the Await of an
// ordinary goroutine it is the time since the process began. In another goroutine or task than the
// context's it is Runtime.Now.
func (cx *Context) Now() time.Duration {
	w := cx.here()
	switch {
	case cx.rt == nil:
		return outsideNow()
	case w == nil:
		return cx.rt.Now()
	case w.nowStale:
		w.now, w.nowStale = w.rt.Now(), false
	}
	return w.now
}

// Waker is a waker of the running task.
func (cx *Context) Waker() Waker {
	return Waker{task: cx.task, generation: cx.task.generationOf(cx.word)}
}

// Wake is w.Wake from a task or a driver. The woken task runs on this worker soon, and no lock is
// taken, unless it is pinned elsewhere or another worker takes it first. In another goroutine or
// task than the context's it is w.Wake.
func (cx *Context) Wake(w Waker) {
	t, on := w.task, cx.here()
	if t != nil && t == cx.task && on != nil { // the task runs, so its generation is the waker's or a later one
		if t.generationOf(cx.word) == w.generation {
			on.woken = true
		}
		return
	}
	if w.mustQueue() {
		on.queueOr(t)
	}
}

// queueOr queues a task whose state is scheduled: on this worker if that may run it. w may be nil.
func (w *worker) queueOr(t *Task) {
	if w == nil || t.rt != w.rt || t.home != nil && t.home != w {
		t.schedule()
		return
	}
	w.wake(t)
}

// Canceled reports that the task has been aborted and no shield is up: the task should end soon.
func (cx *Context) Canceled() bool {
	word := cx.task.state.word.Load()
	if co := cx.coroutine; co != nil && (co.closing || cx.canceled.Load() && word&shieldMask == 0) {
		return true
	}
	return dueToEnd(word)
}

// Shield defers an abort of the running task until Unshield is called as often. Use it around work
// that must not be left half done. Shields may be nested, 255 deep.
func (cx *Context) Shield() { cx.task.state.shield() }

// Unshield ends one Shield. If that was the last one, and the task has been aborted, the task ends
// at its next suspension.
func (cx *Context) Unshield() { cx.lowered(cx.task, cx.task.state.unshield()) }

// Stackful reports whether a function may Await with the context.
func (cx *Context) Stackful() bool { return cx.coroutine != nil }

// where is also good with the context of a Poll that is used elsewhere. In a coroutine that the
// Poll resumes, too, the task is then spawned from outside.
func (cx *Context) where() (*Runtime, *worker) {
	w := cx.here()
	if w != nil && cx.coroutine == nil && w.id != goid.Get() {
		w = nil
	}
	return cx.rt, w
}
