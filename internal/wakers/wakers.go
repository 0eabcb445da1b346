// Package wakers has the waiters of something that many tasks wait for, such as the result of a
// task. Such a task does not say when it gives up: its future is shared, and nobody abandons it. So
// a set drops the wakers whose tasks have ended.
package wakers

// A Waker wakes one task.
type Waker interface {
	comparable
	Wake()
	Alive() bool // the task has not ended
}

// A Set is a set of wakers in the order in which they were added. The zero value is empty. The
// owner's lock guards it. One waker needs no memory.
//
// Adding a waker takes constant time on average. Ended tasks are dropped whenever the set has
// become twice as large as it was after the last time. So the set has at most twice as many wakers
// as it has had live ones, and a few more.
type Set[W Waker] struct {
	one   W
	more  []W
	index map[W]struct{} // the wakers of more; nil while there are few
	sweep int            // the length of more at which ended tasks are dropped
}

const few = 8

// Add adds a waker, once.
func (s *Set[W]) Add(w W) {
	if w == s.one || s.has(w) {
		return
	}
	if len(s.more) == 0 && !s.one.Alive() {
		s.one = w
		return
	}
	if len(s.more) >= max(s.sweep, few) {
		s.dropEnded()
	}
	s.more = append(s.more, w)
	if s.index != nil {
		s.index[w] = struct{}{}
	}
}

func (s *Set[W]) has(w W) bool {
	if s.index != nil {
		_, ok := s.index[w]
		return ok
	}
	for _, m := range s.more {
		if m == w {
			return true
		}
	}
	return false
}

// dropEnded drops the wakers whose tasks have ended.
func (s *Set[W]) dropEnded() {
	live := s.more[:0]
	for _, w := range s.more {
		if w.Alive() {
			live = append(live, w)
		}
	}
	clear(s.more[len(live):])
	s.more, s.index, s.sweep = live, nil, 2*len(live)
	if len(live) >= few {
		s.index = make(map[W]struct{}, s.sweep)
		for _, w := range live {
			s.index[w] = struct{}{}
		}
	}
}

// Len is the number of wakers, including those of ended tasks that have not been dropped.
func (s *Set[W]) Len() int {
	n := len(s.more)
	if s.one != *new(W) {
		n++
	}
	return n
}

// Each calls wake for each waker, oldest first.
func (s *Set[W]) Each(wake func(W)) {
	wake(s.one)
	for _, w := range s.more {
		wake(w)
	}
}
