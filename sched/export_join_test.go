package sched

import "unsafe"

// Timers is the number of timers in the runtime's wheel.
func (rt *Runtime) Timers() int {
	rt.timers.mu.Lock()
	defer rt.timers.mu.Unlock()
	return rt.timers.wheel.Len()
}

// Memory is the address of the waker's task, which may have ended.
func (w Waker) Memory() unsafe.Pointer { return unsafe.Pointer(w.task) }

// Waiters is the number of futures that wait for the token.
func (t *CancellationToken) Waiters() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waiters.Len()
}

// Children is the number of children in the token's list.
func (t *CancellationToken) Children() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for c := t.children; c != nil; c = c.next {
		n++
	}
	return n
}

// Waiters is the number of futures that wait for the set's tasks.
func (s *JoinSet[T]) Waiters() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiters.Len()
}

// Waiters is the number of futures that wait for the tracker.
func (t *TaskTracker) Waiters() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waiters.Len()
}
