package sched

import (
	"iter"
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/suiro-go/suiro/internal/background"
	"github.com/suiro-go/suiro/internal/onworker"
	"github.com/suiro-go/suiro/internal/panics"
)

// A coroutine is a stack on which stackful tasks run, one after the other. If the goroutine that
// created it was locked to a thread, Go lets no other thread resume it. So where workers are
// locked (Config.locked), it stays with the worker that created it. Where they are not, any worker
// resumes it.
//
// One worker at a time resumes it: the one that runs its task, as the task's state word says. A
// worker's writes before it suspends the task are visible to the next worker that runs it, because
// both change that word. A free coroutine is in one list of free coroutines: a worker's own, or
// the shared list, which a lock guards.
type coroutine struct {
	// A switch needs only these fields; they fit into one cache line.
	cx     *Context // that of the running job, which is used for no other job; nil: the coroutine is free
	resume func() (struct{}, bool)
	yield  func(struct{}) bool
	id     uintptr // goid.Get of its goroutine, from its first job on

	job     job                  // the running job; nil: the coroutine is free
	fn      func(*Context) error // the function of a Coroutine
	stop    func()
	exited  bool // a task called runtime.Goexit: the stack stays in its deferred calls for good
	closing bool // the worker ends: Await returns at once

	ignored  int32 // calls of Await since the task was canceled
	deferred []Deferred

	maker      *worker        // the worker in whose list it is
	prev, next *coroutine     // in that list
	goroutine  uint64         // its number in the output of runtime.Stack; the lock of the list guards it
	of         atomic.Uintptr // the address of the task of its last job, for reports
}

// A job is a stackful task, with a result of any type, or a Coroutine. The last call of a
// coroutine for a job is either call or crashed.
type job interface {
	call(cx *Context)
	crashed(err error)
}

func newCoroutine(w *worker) *coroutine {
	co := &coroutine{maker: w}
	co.resume, co.stop = iter.Pull(func(yield func(struct{}) bool) {
		co.yield = yield
		co.maker.stacks.enter(co)
		defer onworker.Leave()
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

// work runs one job. Neither a panic nor a runtime.Goexit leaves it: iter.Pull would pass both on
// to the worker. A Goexit cannot be stopped, but while its deferred calls run the stack is alive.
// So the coroutine continues to serve in one of them.
func (co *coroutine) work() {
	exited := true
	defer func() {
		if !exited {
			return
		}
		co.exited = true
		co.crashed(ErrGoexit)
		if co.yield(struct{}{}) {
			co.serve()
		}
	}()
	p := co.call()
	exited = false
	if p != nil {
		co.crashed(p)
	}
}

// crashed ends a job that did not return.
func (co *coroutine) crashed(err error) {
	if co.cx.defers {
		co.runDeferred()
	}
	co.cx.over()
	co.job.crashed(err)
	co.cx, co.job = nil, nil
}

// call calls the job's function, and returns its panic. It does not return after runtime.Goexit.
func (co *coroutine) call() (p *PanicError) {
	returned := false
	defer func() {
		if !returned {
			p = (*PanicError)(panics.Of(recover()))
		}
	}()
	cx := co.cx
	if w := cx.worker; w != nil && w.stackLabels != nil {
		w.stackLabels.set(cx.task)
	} else {
		background.Unlabel() // the last job may have left labels
	}
	co.job.call(cx)
	co.cx, co.job = nil, nil
	returned = true
	return nil
}

// begin gives the coroutine a job of the task that cx runs.
func (co *coroutine) begin(cx *Context, j job) {
	own := cx.worker.stacks.context()
	own.rt, own.task, own.coroutine, own.word, own.budget = cx.rt, cx.task, co, cx.word, budgetPerRun
	co.cx, co.job = own, j
	co.of.Store(uintptr(unsafe.Pointer(cx.task)))
}

// resumeOn continues the job on a worker until the job waits or is done.
func (co *coroutine) resumeOn(w *worker) (done bool) {
	co.cx.worker = w
	co.resume()
	return co.job == nil
}

// suspend returns to the worker until the task is run again.
func (co *coroutine) suspend() {
	co.yield(struct{}{})
	co.cx.budget = budgetPerRun
}

// giveUpAfter is how often a canceled task may call Await before it is unwound for good: the task
// ignores that Await fails.
const giveUpAfter = 128

// canceledAwait counts these calls.
func (co *coroutine) canceledAwait() {
	co.ignored++
	if co.ignored > giveUpAfter {
		runtime.Goexit()
	}
}
