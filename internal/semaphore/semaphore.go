package semaphore

import (
	"github.com/suiro-go/suiro/internal/atomics"
	"github.com/suiro-go/suiro/internal/list"
)

// An Owner acquires the semaphore.
type Owner interface {
	// Start starts the goroutine, for which the semaphore has been acquired. It is called once,
	// without a lock.
	Start()
	// Signal wakes the goroutine, which has called Acquire and reads Acquired under a lock of its
	// own. Signal takes that lock, so the goroutine misses nothing.
	Signal()
}

// A FIFO is a semaphore whose waiters are served in order. The zero value is ready. All methods may
// be called from any goroutine, and under an owner's lock, except Start and Release.
//
// Invariant: held is the number of waiters that have acquired the semaphore, and is at most the
// limit of the last Acquire. While a waiter is queued, held does not decrease. Each acquisition is
// released once: by the goroutine before it waits for its peer, or at its end.
type FIFO struct {
	mu    atomics.Mutex // inside an owner's lock, never around it
	held  int
	queue list.List[*Waiter]
}

// A Waiter is an owner's part of a FIFO. The FIFO's lock guards all of it but Owner.
type Waiter struct {
	Owner Owner // fixed before the first call

	node     list.Node[*Waiter]
	acquired bool
	started  bool // the goroutine exists: it waits itself
}

// Start calls the owner's Start when w has acquired the semaphore: at once, or later in a Release.
// At most limit waiters hold the semaphore then.
func (s *FIFO) Start(w *Waiter, limit int) {
	if s.Acquire(w, limit) {
		w.Owner.Start()
	}
}

// Acquire acquires the semaphore, or puts w at the end of the queue. It reports whether w has
// acquired it.
func (s *FIFO) Acquire(w *Waiter, limit int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held >= limit {
		w.node.Value = w
		s.queue.PushBack(&w.node)
		return false
	}
	s.held++
	w.acquired, w.started = true, true
	return true
}

// Acquired reports whether w has acquired the semaphore.
func (s *FIFO) Acquired(w *Waiter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return w.acquired
}

// Release gives the semaphore to the first waiter of the queue, if w has acquired it.
func (s *FIFO) Release(w *Waiter) {
	next, started := s.pass(w)
	switch {
	case next == nil:
	case started:
		next.Signal()
	default:
		next.Start()
	}
}

// pass gives w's acquisition to the next waiter, and returns that one's owner. nil: w has acquired
// nothing, or the queue is empty. started: the owner's goroutine waits for the semaphore.
func (s *FIFO) pass(w *Waiter) (next Owner, started bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !w.acquired {
		return nil, false
	}
	w.acquired = false
	front := s.queue.Front()
	if front == nil {
		s.held--
		return nil, false
	}
	s.queue.Remove(front)
	v := front.Value
	started = v.started
	v.acquired, v.started = true, true
	return v.Owner, started
}

// WaitsToStart reports whether w is queued and its owner has no goroutine.
func (s *FIFO) WaitsToStart(w *Waiter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return w.node.Listed() && !w.started
}

// Waiting is the length of the queue.
func (s *FIFO) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queue.Len()
}

// Cancel removes w from the queue. It reports whether w was queued. If not, and w called Acquire, w
// has acquired the semaphore.
func (s *FIFO) Cancel(w *Waiter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queue.Remove(&w.node)
}

// CancelStart removes w from the queue unless its goroutine has started: that one calls Cancel.
func (s *FIFO) CancelStart(w *Waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !w.started {
		s.queue.Remove(&w.node)
	}
}
