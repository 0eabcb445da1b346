package sched

// An observed future tells its observer, once, that it has come to its end: by its
// result, or because it was abandoned. As the future of a task, that is however the
// task ends: it was aborted, it panicked, its runtime closed or could not start.
// The task's result is then about to be in its handle, but not yet there.
type observed[T any] struct {
	future   Future[T]
	fn       func(*Context) (T, error) // instead of future: a task of its own, stackful from its first run
	observer observer
	told     bool
}

type observer interface {
	taskEnds(cx *Context) // cx may be nil
}

func (o *observed[T]) Poll(cx *Context) (T, error) {
	if o.fn != nil {
		return becomeStackful(cx, o.call)
	}
	v, err := o.future.Poll(cx)
	if err != ErrPending {
		o.tell(cx)
	}
	return v, err
}

// Cancel abandons the future. The function of a stackful task has not been called.
func (o *observed[T]) Cancel() {
	defer o.tell(nil)
	abandon(o.future)
}

func (o *observed[T]) call(cx *Context) (T, error) {
	defer o.tell(cx)
	return o.fn(cx)
}

func (o *observed[T]) tell(cx *Context) {
	if !o.told {
		o.told = true
		o.observer.taskEnds(cx)
	}
}

// becomeStackful has the task whose future is being polled call fn on a coroutine,
// from this run on. Until then the task was a stackless one, whose future is told
// when it is never run.
func becomeStackful[T any](cx *Context, fn func(*Context) (T, error)) (T, error) {
	c := cx.task.body.(*cell[T])
	c.fn = fn
	if !c.runStackful(cx) {
		return *new(T), ErrPending
	}
	return c.value, c.err
}
