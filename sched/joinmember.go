package sched

// A member is a task of a set, and its future.
type member[T any] struct {
	observed[T]
	set *JoinSet[T]

	prev, next *member[T] // in the set; these and the next are under its mutex
	nextEnded  *member[T]
	in         bool // it has entered the set
	over       bool // it has ended before that
	out        bool // it is not in the set any more

	handle JoinHandle[T]
}

// taskEnds tells the set, if the member is in it. The lock order is the set's, then the
// handle's.
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

// take is the task's result, if it is there.
func (m *member[T]) take(cx *Context) (T, error) {
	v, err := m.handle.Poll(cx)
	if err != ErrPending {
		m.handle.forget() // an AbortHandle may keep the member
	}
	return v, err
}

// Abort makes the member an AbortHandle.
func (m *member[T]) Abort() { m.handle.Abort() }

// Done is true as well if the result has been taken or given up.
func (m *member[T]) Done() bool { return m.handle.Done() }

// giveUp aborts the task and has its result released.
func (m *member[T]) giveUp() {
	h := JoinHandle[T]{cell: m.handle.forget()} // of its own: Release is the user's
	h.Abort()
	h.Detach()
}

// An AbortHandle stands for a task whose result goes elsewhere. The zero value
// stands for one that is done.
type AbortHandle struct {
	task interface {
		Abort()
		Done() bool
	}
}

// Abort is JoinHandle.Abort.
func (h AbortHandle) Abort() {
	if h.task != nil {
		h.task.Abort()
	}
}

// Done is JoinHandle.Done.
func (h AbortHandle) Done() bool { return h.task == nil || h.task.Done() }
