package readiness

import (
	"net"
	"os"

	"github.com/suiro-go/suiro/internal/atomics"
	"github.com/suiro-go/suiro/internal/list"
)

// A Caller makes calls: it is a task or a goroutine. by says where it is woken.
type Caller[B any] interface{ Wake(by B) }

// A Side is one direction of a descriptor and the calls that wait in it. Its zero value is open and
// not late. Its owner's mutex is held in all methods but Try and Late. It must not be copied.
type Side[C Caller[B], B any] struct {
	edges  atomics.Uint32         // how many have come
	late   atomics.Bool           // the deadline has passed
	takers list.List[*Wait[C, B]] // those that wait and take
	others list.List[*Wait[C, B]] // all others that wait
	parked list.List[*Wait[C, B]] // those of Park
}

// Try is called before the system call.
func (s *Side[C, B]) Try() Attempt { return Attempt{true, s.edges.Load()} }

// Late reports whether the deadline has passed.
func (s *Side[C, B]) Late() bool { return s.late.Load() }

// Extend is called when the deadline is one that has not passed.
func (s *Side[C, B]) Extend() { s.late.Store(false) }

// Expire is called when the deadline has passed: the calls that wait fail, and so do later ones.
func (s *Side[C, B]) Expire(by B) {
	s.late.Store(true)
	s.Fail(os.ErrDeadlineExceeded, by)
}

// Callable is why there can be no call: net.ErrClosed, os.ErrDeadlineExceeded, or nil.
func (s *Side[C, B]) Callable(l *Life) error {
	switch {
	case l.Closed():
		return net.ErrClosed
	case s.Late():
		return os.ErrDeadlineExceeded
	}
	return nil
}

// Add registers a call that found the descriptor not ready. It is woken at once if there was an
// edge since it has tried, or if the owner says that the descriptor is ready. The owner asks the
// kernel for a call that has not tried, since no edge may come.
func (s *Side[C, B]) Add(w *Wait[C, B], ready bool, by B) {
	s.add(w)
	if ready || w.made && s.edges.Load() != w.edges {
		s.wake(w, nil, by)
	}
	w.Attempt = Attempt{}
}

// Park registers a call that no edge wakes.
func (s *Side[C, B]) Park(w *Wait[C, B]) {
	w.parked = true
	s.add(w)
}

func (s *Side[C, B]) add(w *Wait[C, B]) {
	w.registered, w.turn = true, false
	w.node.Value = w
	s.of(w).PushBack(&w.node)
}

// of is the list for a call.
func (s *Side[C, B]) of(w *Wait[C, B]) *list.List[*Wait[C, B]] {
	switch {
	case w.parked:
		return &s.parked
	case w.Takes:
		return &s.takers
	}
	return &s.others
}

// Edge says that the direction may be ready. It wakes the first of the calls that take, and all
// others.
func (s *Side[C, B]) Edge(by B) {
	s.edges.Add(1)
	s.Next(by)
	s.wakeAll(&s.others, nil, by)
}

// Next wakes the first call that takes.
func (s *Side[C, B]) Next(by B) {
	if n := s.takers.Front(); n != nil {
		s.wake(n.Value, nil, by)
	}
}

// Fail makes all calls that wait fail.
func (s *Side[C, B]) Fail(err error, by B) {
	s.wakeAll(&s.takers, err, by)
	s.wakeAll(&s.others, err, by)
	s.wakeAll(&s.parked, err, by)
}

func (s *Side[C, B]) wakeAll(l *list.List[*Wait[C, B]], err error, by B) {
	for n := l.Front(); n != nil; n = l.Front() {
		s.wake(n.Value, err, by)
	}
}

func (s *Side[C, B]) wake(w *Wait[C, B], err error, by B) {
	s.of(w).Remove(&w.node)
	w.woken, w.parked, w.err = true, false, err
	w.Caller.Wake(by)
}

// Waits reports whether a call waits for an edge.
func (s *Side[C, B]) Waits() bool { return s.takers.Len()+s.others.Len() > 0 }

// Pass ends the turn of a call that has succeeded or failed. If it returns true, others wait that
// take. The owner then asks the kernel for them.
func (s *Side[C, B]) Pass(w *Wait[C, B]) (others bool) {
	had := w.turn
	w.turn = false
	return had && s.takers.Len() > 0
}

// Drop forgets a call that gives up. If it was woken, or has the turn, the next call is woken
// instead.
func (s *Side[C, B]) Drop(w *Wait[C, B], by B) {
	s.of(w).Remove(&w.node)
	if w.turn || w.Takes && w.woken && w.err == nil {
		s.Next(by)
	}
	w.registered, w.woken, w.parked, w.turn, w.err, w.Attempt = false, false, false, false, nil, Attempt{}
}

// Remove takes a call out that waits, and reports whether it did. If not, it is about to be woken.
func (s *Side[C, B]) Remove(w *Wait[C, B]) bool {
	if !s.of(w).Remove(&w.node) {
		return false
	}
	w.registered = false
	return true
}
