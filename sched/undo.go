package sched

// An Undoer is a future that can take back what its result does not show: a lock that it has taken,
// or permits of a semaphore. Undo is called at most once after each Poll that has returned a nil
// error, if nobody takes the result. That is the case if the future is part of a Join, and the Join
// fails or is abandoned, or if it is the future of a task whose handle was detached. Like Cancel,
// Undo must not block and never runs concurrently with Poll.
//
// The value itself is released by its own method: see Releaser. A future that contains another one
// passes Undo on to it, as it does Cancel.
type Undoer interface{ Undo() }

// undo calls Undo if the future is an Undoer.
func undo(f any) {
	if u, ok := f.(Undoer); ok {
		u.Undo()
	}
}

// drop gives back the result of a future that nobody takes.
func drop[T any](f any, v T, err error) {
	defer releaseResult(v, err) // also if Undo panics
	if err == nil {
		undo(f)
	}
}

// A branch is a future within another one, until it is done.
type branch[T any] struct {
	f    Future[T] // nil: done or abandoned
	done Undoer    // f, if it has returned a result that can be undone
}

func (b *branch[T]) poll(cx *Context) (T, error) {
	v, err := b.f.Poll(cx)
	if err != ErrPending {
		if err == nil {
			b.done, _ = b.f.(Undoer)
		}
		b.f = nil
	}
	return v, err
}

// cancel abandons the future if it is not done.
func (b *branch[T]) cancel() {
	if f := b.f; f != nil {
		b.f = nil
		abandon(f)
	}
}

// Undo undoes the result of the future.
func (b *branch[T]) Undo() {
	if u := b.done; u != nil {
		b.done = nil
		u.Undo()
	}
}
