package syncx

// waiting is the number of waiters.
func (q *queue) waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.list.Len()
}

func (s *Semaphore) Waiters() int   { return s.queue.waiting() }
func (m *Mutex) Waiters() int       { return m.queue.waiting() }
func (rw *RWMutex) Waiters() int    { return rw.queue.waiting() }
func (n *Notify) Waiters() int      { return n.queue.waiting() }
func (b *Barrier) Waiters() int     { return b.queue.waiting() }
func (c *OnceCell[T]) Waiters() int { return c.mu.Waiters() }

// MutexPasses is how often the waiters of a Mutex may be overtaken.
func MutexPasses() int { return int(mutexPasses) }

// AtRest reports whether nobody holds it or waits.
func (m *Mutex) AtRest() bool    { return m.word.Load() == 0 && m.Waiters() == 0 }
func (rw *RWMutex) AtRest() bool { return rw.word.Load() == 0 && rw.Waiters() == 0 }
func (s *Semaphore) AtRest(permits int) bool {
	return s.word.Load()&semWaited == 0 && s.Available() == permits && s.Waiters() == 0
}
func (n *Notify) AtRest() bool {
	n.queue.mu.Lock()
	defer n.queue.mu.Unlock()
	return n.word.Load()&notifyState == notifyNothing && n.queue.empty() && n.due.Len() == 0
}
