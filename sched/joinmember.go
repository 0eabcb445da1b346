package sched

// A member is a task of a set, and that task's future.
type member[T any] struct {
	observed[T]
	set *JoinSet[T]
	rt  *Runtime

	prev, next *member[T] // in the set; the set's mutex guards these and the following fields
	nextEnded  *member[T]
	in         bool // it has entered the set
	over       bool // it has ended before it entered the set
	out        bool // it has left the set

	late   bool // it has entered during a Shutdown, and is aborted by the goroutine that spawns it
	handle JoinHandle[T]
}

// taskEnds notifies the set, if the member is in it. Lock order: the set's, then the handle's.
func (m *member[T]) taskEnds(cx *Context) {
	s := m.set
	s.mu.Lock()
	if m.in && !m.out {
		s.end(cx, m)
		return
	}
	m.over = true
	s.mu.Unlock()
}

// take returns the task's result if it is available, else ErrPending. The member can undo it.
func (m *member[T]) take(cx *Context) (T, error) {
	v, err := m.handle.Poll(cx)
	if err != ErrPending {
		m.handle.forget() // the member may be kept to undo the result
	}
	return v, err
}

// giveUp aborts the task and releases its result.
func (m *member[T]) giveUp() {
	h := JoinHandle[T]{cell: m.handle.forget()} // a handle of its own, because Release is the user's code
	h.Abort()
	h.Detach()
}

// An AbortHandle can abort a task whose result is taken elsewhere. It keeps nothing of a task that
// has ended: neither its future nor its result. The zero value refers to a task that is done.
type AbortHandle struct{ task Waker }

// Abort is JoinHandle.Abort.
func (h AbortHandle) Abort() { h.task.abort() }

// Done reports whether the task is done.
func (h AbortHandle) Done() bool { return !h.task.Alive() }
