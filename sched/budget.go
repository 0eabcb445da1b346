package sched

// Proceed takes one unit of the running task's budget, of which it has 128 for
// each run. false: the budget is used up; the task has been queued again, behind
// a poll of the driver, and the caller must return ErrPending. Whatever could go
// on for ever without being pending, because there is always one more value to
// receive, calls it first.
func (cx *Context) Proceed() bool {
	if cx.budget > 0 {
		cx.budget--
		return true
	}
	cx.yield()
	return false
}

// yield has the running task run again after the worker's next poll of its
// driver.
func (cx *Context) yield() {
	if cx.worker == nil {
		cx.budget = budgetPerRun
		cx.Waker().Wake()
		return
	}
	cx.worker.yields = true
}

// Unconstrained is f without a budget: Proceed never stops it. It is for a task
// that may keep its worker from everything else.
func Unconstrained[T any](f Future[T]) Future[T] { return &unconstrained[T]{f} }

type unconstrained[T any] struct{ f Future[T] }

func (u *unconstrained[T]) Poll(cx *Context) (T, error) {
	left := cx.budget
	cx.budget = int(^uint(0) >> 1)
	defer func() { cx.budget = left }()
	return u.f.Poll(cx)
}

func (u *unconstrained[T]) Cancel() { abandon(u.f) }

// Yield lets other tasks run: it is pending once, and its task goes behind those
// that are queued and behind one poll of the driver.
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
