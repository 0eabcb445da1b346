package sched

// An observed future notifies its observer, once, when it has ended: it has returned its result,
// or it was abandoned. As the future of a task it notifies however the task ends: aborted, with a
// panic, or because its runtime closed or could not start. At that moment the task's result is not
// yet in its handle.
type observed[T any] struct {
	future   Future[T]
	fn       func(*Context) (T, error) // used instead of future: a task of its own, stackful from its first run
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
		if _, undoes := o.future.(Undoer); err != nil || !undoes {
			o.future = nil
		}
	}
	return v, err
}

// Cancel abandons the future. If this is a stackful task, its function has not been called.
func (o *observed[T]) Cancel() {
	defer func() {
		o.tell(nil)
		o.future, o.fn = nil, nil
	}()
	abandon(o.future)
}

// Undo undoes the result of the future.
func (o *observed[T]) Undo() { undo(o.future) }

func (o *observed[T]) call(cx *Context) (T, error) {
	fn := o.fn
	o.fn = nil
	defer o.tell(cx)
	return fn(cx)
}

// tell notifies the observer. The caller then drops the future, since a handle may be kept for the
// result. In this order a scope that reads the future under its lock finds it.
func (o *observed[T]) tell(cx *Context) {
	if !o.told {
		o.told = true
		o.observer.taskEnds(cx)
	}
}

// becomeStackful makes the polled task call fn on a coroutine, from this run on. Until then the
// task is stackless, so its future is notified if the task never runs.
func becomeStackful[T any](cx *Context, fn func(*Context) (T, error)) (T, error) {
	c := cx.task.body.(*cell[T])
	c.fn = fn
	if !c.runStackful(cx) {
		return *new(T), ErrPending
	}
	return c.value, c.err
}
