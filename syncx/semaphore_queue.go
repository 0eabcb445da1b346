package syncx

import "github.com/suiro-go/suiro/sched"

// These are the slow paths of a semaphore, in which a task waits.

// release releases n permits.
func (s *Semaphore) release(n uint64) {
	for {
		old := s.word.Load()
		if old&semWaited != 0 {
			s.queue.mu.Lock()
			s.give(n)
			return
		}
		if old/semPermit+n > maxPermits {
			tooMany()
		}
		if s.word.CompareAndSwap(old, old+n*semPermit) {
			return
		}
	}
}

func tooMany() {
	panic("syncx: more permits released than a semaphore can have: is something released twice?")
}

// give hands n permits to the waiters, in their order, and frees the rest. The lock is held; give
// releases it. It is free between two batches. A newcomer then goes behind the waiters, and cannot
// see the permits that are still to be given.
func (s *Semaphore) give(n uint64) {
	if n == 1 { // the usual case
		w, ok := s.grant(&n)
		s.finish(n)
		if ok {
			wake(w)
		}
		return
	}
	for {
		var b batch
		for !b.full() {
			w, ok := s.grant(&n)
			if !ok {
				break
			}
			b.add(w)
		}
		more := b.full()
		if more {
			s.queue.mu.Unlock()
		} else {
			s.finish(n)
		}
		b.wake()
		if !more {
			return
		}
		s.queue.mu.Lock()
	}
}

// grant gives permits to the first waiter. It reports whether that one now has all permits and
// must be woken. The lock is held.
func (s *Semaphore) grant(n *uint64) (sched.Waker, bool) {
	if *n == 0 || s.queue.empty() || s.word.Load()&semClosed != 0 {
		return sched.Waker{}, false
	}
	first := &s.queue.list.Front().Value
	some := min(*n, first.need)
	*n -= some
	first.need -= some
	first.got += some
	if first.need > 0 {
		return sched.Waker{}, false
	}
	return s.queue.pop(granted), true
}

// finish frees n permits, and releases the lock.
func (s *Semaphore) finish(n uint64) {
	ok := s.put(n)
	s.queue.mu.Unlock()
	if !ok {
		tooMany()
	}
}

// put frees n permits, and updates the word's bit for waiters. The lock is held. false: there
// would be too many permits.
func (s *Semaphore) put(n uint64) bool {
	for {
		old := s.word.Load()
		next := old + n*semPermit
		if s.queue.empty() {
			next &^= semWaited
		}
		if old/semPermit+n > maxPermits {
			return false
		}
		if next == old || s.word.CompareAndSwap(old, next) {
			return true
		}
	}
}

// poll acquires n permits for a place, or enqueues the place with that waker.
func (s *Semaphore) poll(p *place, n uint64, w sched.Waker) (ok bool, err error) {
	switch p.Value.state.Load() {
	case idle:
		if ok, err = s.try(n); ok || err != nil {
			return ok, err
		}
	case granted:
		settle(p)
		return true, nil
	case refused:
		settle(p)
		return false, ErrClosed
	}
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	switch p.Value.state.Load() {
	case idle:
		return s.enter(p, n, w)
	case queued:
		p.Value.waker = w
		return false, nil
	case granted:
		settle(p)
		return true, nil
	default:
		settle(p)
		return false, ErrClosed
	}
}

// enter acquires n permits, or takes all free ones and waits for the rest. The lock is held.
func (s *Semaphore) enter(p *place, n uint64, w sched.Waker) (ok bool, err error) {
	for {
		old := s.word.Load()
		free := old / semPermit
		switch {
		case old&semClosed != 0:
			return false, ErrClosed
		case free >= n:
			if s.word.CompareAndSwap(old, old-n*semPermit) {
				return true, nil
			}
		case s.word.CompareAndSwap(old, semWaited):
			s.queue.push(p, w, n-free)
			p.Value.got = free
			return false, nil
		}
	}
}

// leave ends the wait of a place. Its permits go to the next waiter.
func (s *Semaphore) leave(p *place) {
	if p.Value.state.Load() == idle {
		return
	}
	s.queue.mu.Lock()
	got := uint64(0)
	switch p.Value.state.Load() {
	case queued:
		s.queue.list.Remove(p)
		got = p.Value.got
	case granted:
		got = p.Value.got
	}
	settle(p)
	s.give(got)
}
