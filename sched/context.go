package sched

import (
	"context"
	"time"

	"github.com/suiro-go/suiro/internal/atomics"
	"github.com/suiro-go/suiro/internal/goid"
	"github.com/suiro-go/suiro/internal/onworker"
)

// A Context is a running task's access to its runtime and worker. Go has no thread-locals, so it
// is passed as an argument. It is also the context.Context of its task: see Done. Await, and all
// calls that wait, take it or a context that was derived from it, and suspend the task.
//
// A function of Go has a Context of its own. Its methods that context.Context has, and Runtime, may
// be called by any goroutine and at any time. The others are for the function itself, until it
// returns. Elsewhere, in another goroutine or task or later, they do no harm: each says what it does
// then. A call of this module that takes a Context only to be cheaper, such as syncx.Mutex.UnlockFrom,
// works there as it does with nil, and a Spawner refuses.
//
// The Context of a Poll belongs to its worker, and is valid until the Poll returns. A context that
// was derived from it ends with the task, but finds the values of the task's parent only until then:
// WithoutTask keeps them.
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
	if cx.task == nil {
		return false
	}
	b, ok := cx.task.body.(*blocker)
	return ok && b.id.Load() == goid.Get()
}

// isOn is isHere, but the context of a Poll or a Run is also good on the coroutines of that run.
func (cx *Context) isOn() bool {
	if cx.coroutine == nil && cx.worker != nil {
		return cx.here() != nil && cx.task != nil
	}
	return cx.isHere()
}

// Runtime is the runtime that the task runs in. In Block it is the one that was given to Block.
func (cx *Context) Runtime() *Runtime { return cx.rt }

// here is the worker that the caller runs on, if the context is that of code which runs there. nil:
// it is that of other code, or of an ordinary goroutine. A worker's own context is also good on the
// coroutines that the worker resumes.
func (cx *Context) here() *worker {
	if co := cx.coroutine; co != nil {
		if !co.runs(cx) { // only the function itself may read the worker
			return nil
		}
		return cx.worker
	}
	if w := cx.worker; w == nil || w.id == goid.Get() || w.hosts() {
		return w
	}
	return nil
}

// hosts reports whether the caller runs on a coroutine that the worker has resumed.
func (w *worker) hosts() bool {
	co, ok := onworker.Here().(*coroutine)
	return ok && co.cx != nil && co.cx.worker == w
}

// Worker is the index of the worker that runs the task, from 0; -1 on an ordinary goroutine. The
// indices of spare workers follow the others: see Config.Spares. A stackful task may run on another
// worker after each wait. It is -1 for the context of another function.
func (cx *Context) Worker() int {
	if w := cx.runsOn(); w != nil {
		return w.index
	}
	return -1
}

// Driver is the driver of the worker that runs the task; nil on an ordinary goroutine, and for the
// context of another function.
func (cx *Context) Driver() Driver {
	if w := cx.runsOn(); w != nil {
		return w.driver
	}
	return nil
}

// runsOn is here, except that the context of a Poll is not checked: its worker never changes.
func (cx *Context) runsOn() *worker {
	if co := cx.coroutine; co != nil && !co.runs(cx) {
		return nil
	}
	return cx.worker
}

// Now is the runtime's time (see Runtime.Now) as of the worker's current tick. As long as tasks
// are short it is off by well under a millisecond. It costs almost nothing. In the Await of an
// ordinary goroutine it is the time since the process began. Elsewhere it is Runtime.Now.
func (cx *Context) Now() time.Duration {
	w := cx.here()
	switch {
	case w == nil && cx.rt == nil:
		return outsideNow()
	case w == nil:
		return cx.rt.Now()
	case w.nowStale:
		w.now, w.nowStale = w.rt.Now(), false
	}
	return w.now
}

// Waker is a waker of the running task. The context of a function gives it anywhere, also to other
// goroutines. That of a Poll gives it only in the Poll: elsewhere the waker may be another task's.
func (cx *Context) Waker() Waker {
	t := cx.task
	if t == nil {
		return Waker{}
	}
	return Waker{task: t, generation: t.generationOf(cx.word)}
}

// Wake is w.Wake from a task or a driver. The woken task runs on this worker soon, and no lock is
// taken, unless it is pinned elsewhere or another worker takes it first. Elsewhere it is w.Wake.
func (cx *Context) Wake(w Waker) {
	if cx.coroutine == nil && cx.worker != nil && cx.worker.id == goid.Get() { // as here, without a call
		cx.wakeOn(cx.worker, w)
		return
	}
	cx.wakeOn(cx.here(), w)
}

// wakeOn is Wake on a worker that is known to be the caller's; nil: none is.
func (cx *Context) wakeOn(on *worker, w Waker) {
	t := w.task
	if on != nil && t != nil && t == cx.task { // the task runs, so its generation is the waker's or a later one
		if t.generationOf(cx.word) == w.generation {
			on.woken = true
		}
		return
	}
	if !w.mustQueue() {
		return
	}
	if on == nil || t.rt != on.rt || t.home != nil && t.home != on {
		t.schedule()
		return
	}
	on.wake(t)
}

// queueOr queues a task whose state is scheduled: on this worker, or where it must be. w may be nil.
func (w *worker) queueOr(t *Task) {
	if w == nil || t.rt != w.rt || t.home != nil && t.home != w {
		t.schedule()
		return
	}
	w.wake(t)
}

// Canceled reports that the task has been aborted and no shield is up: the task should end soon.
// Elsewhere it reports whether Done is closed.
func (cx *Context) Canceled() bool {
	if !cx.isOn() {
		return cx.Err() != nil
	}
	return cx.isCanceled()
}

// isCanceled is Canceled in the task.
func (cx *Context) isCanceled() bool {
	word := cx.task.state.word.Load()
	if co := cx.coroutine; co != nil && (co.closing || cx.canceled.Load() && word&shieldMask == 0) {
		return true
	}
	return dueToEnd(word)
}

// Shield defers an abort of the running task until Unshield is called as often. Use it around work
// that must not be left half done. Shields may be nested, 255 deep. Elsewhere neither has an effect.
func (cx *Context) Shield() { cx.shield() }

func (cx *Context) shield() (raised bool) {
	if !cx.isOn() {
		return false
	}
	cx.task.state.shield()
	return true
}

// Unshield ends one Shield. If that was the last one, and the task has been aborted, the task ends
// at its next suspension.
func (cx *Context) Unshield() {
	if cx.isOn() {
		cx.lowered(cx.task, cx.task.state.unshield())
	}
}

// Stackful reports whether the context is a function's, which may Await with it.
func (cx *Context) Stackful() bool { return cx.coroutine != nil }

func (cx *Context) where() (*Runtime, *worker, error) {
	if w := cx.here(); w != nil {
		return cx.rt, w, nil
	}
	return cx.outside()
}

// outside is where for a call that no worker makes for the context: a goroutine does in a Poll of
// Block, and else the call is a mistake.
func (cx *Context) outside() (*Runtime, *worker, error) {
	switch {
	case cx.coroutine != nil || cx.worker != nil:
		return cx.rt, nil, cx.mayNotSpawn()
	case !cx.isHere() || cx.rt == nil:
		panic(cx.mayNotSpawn())
	}
	return cx.rt, nil, nil
}
