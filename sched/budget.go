package sched

import "math"

// Proceed takes one unit of the running task's budget. Each run has a budget of 128. false: the
// budget is used up. The task has then been queued again, behind a poll of the driver, and the
// caller must return ErrPending. A future calls Proceed first if it could otherwise go on without
// end, for example because there is always one more value to receive. If its poll then makes no
// progress, it calls Refund. With a nil Context, that of a goroutine, Proceed is always true. Every
// poll calls it, so it does not check who does: elsewhere it takes from the budget of the task, which
// makes that yield earlier.
func (cx *Context) Proceed() bool {
	if cx == nil {
		return true
	}
	if cx.budget > 0 {
		cx.budget--
		return true
	}
	cx.yield()
	return false
}

// Refund gives back the unit that Proceed has taken. A future calls it before it returns ErrPending
// if it has made no progress. Otherwise a task that waits for more futures than it has units would
// never park, and would never poll the last of them.
func (cx *Context) Refund() { cx.budget++ }

// yield makes the running task run again after the worker's next poll of its driver.
func (cx *Context) yield() {
	if co := cx.coroutine; co != nil && !co.runs(cx) || cx.worker == nil {
		cx.budget = budgetPerRun
		cx.Waker().Wake()
		return
	}
	cx.worker.yields = true
}

// Unconstrained is f without a budget: Proceed never stops it. It is for a task that may keep its
// worker from all other work.
func Unconstrained[T any](f Future[T]) Future[T] {
	mustHaveFuture(f)
	return &unconstrained[T]{f}
}

type unconstrained[T any] struct{ f Future[T] }

func (u *unconstrained[T]) Poll(cx *Context) (T, error) {
	left := cx.budget
	cx.budget = math.MaxInt32
	defer func() { cx.budget = left }()
	return u.f.Poll(cx)
}

func (u *unconstrained[T]) Cancel() { abandon(u.f) }

func (u *unconstrained[T]) Undo() { undo(u.f) }

// Yield lets other tasks run. It is pending once: its task runs again after the tasks that are
// queued now and after one poll of the driver.
func Yield() Future[struct{}] { return new(yielding) }

type yielding struct{ done bool }

func (y *yielding) Poll(cx *Context) (struct{}, error) {
	if y.done {
		return struct{}{}, nil
	}
	y.done = true
	cx.yield()
	return struct{}{}, ErrPending
}
