package sched

import "sync"

// A member is a task of a set, and its future.
type member[T any] struct {
	observed[T]
	set *JoinSet[T]

	prev, next *member[T] // in the set; these and the next are under its mutex
	nextEnded  *member[T]
	out        bool // it is not in the set any more

	mu     sync.Mutex // held from before the spawn until the handle is there
	handle JoinHandle[T]
}

// taskEnds puts the member at the end of those that have ended. The lock order is
// the set's, then the member's. A spawn that was refused comes here with the
// member's: whoever finds the member among those that have ended, and wants that
// lock, finds it after this, and the spawn does not need the set's again.
func (m *member[T]) taskEnds(cx *Context) {
	s := m.set
	s.mu.Lock()
	if m.out {
		s.mu.Unlock()
		return
	}
	if s.ended == nil {
		s.ended = m
	} else {
		s.newest.nextEnded = m
	}
	s.newest = m
	s.waiters.wakeAll(cx, &s.mu)
}

// take is the task's result, if it is there.
func (m *member[T]) take(cx *Context) (T, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, err := m.handle.Poll(cx)
	if err != ErrPending {
		m.handle.value, m.handle.err = *new(T), nil // an AbortHandle may keep the member
	}
	return v, err
}

// Abort makes the member an AbortHandle.
func (m *member[T]) Abort() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.handle.Abort()
}

// Done is true as well if the result has been taken or given up.
func (m *member[T]) Done() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.handle.Done()
}

// giveUp aborts the task and has its result released.
func (m *member[T]) giveUp() {
	m.mu.Lock()
	h := JoinHandle[T]{cell: m.handle.cell}
	m.handle.cell = nil
	m.mu.Unlock() // Release is the user's
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
