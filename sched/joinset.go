package sched

import (
	"errors"

	"github.com/suiro-go/suiro/internal/atomics"
)

// ErrEmpty is the error of a JoinNext whose set has no tasks, and of a Select or
// Race that has no futures: there is nothing that could ever be done.
var ErrEmpty = errors.New("sched: nothing to wait for")

// A JoinSet is tasks that belong together, whose results are taken in the order in
// which they end. The zero value is an empty set. It must not be copied. Its
// methods may be called from any goroutine, and at once.
//
// Every task's result is either taken by one JoinNext or released (see Releaser).
// A set that is left with tasks in it leaves them running: defer Close. Apart from
// AbortAll and Close, everything costs the same however many tasks there are. A
// task costs one allocation more than one outside a set.
type JoinSet[T any] struct {
	mu      atomics.Mutex // held for some instructions; no function of others is called under it
	closed  bool
	first   *member[T] // of those whose results have not been taken, in no order
	len     int        // their number
	ended   *member[T] // those of them that have ended, oldest first
	newest  *member[T] // the last of these
	waiters waitList
}

// Spawn starts a stackless task in the set (see the function Spawn). If it cannot be
// started, JoinNext gives the error. In a closed set it is abandoned instead.
func (s *JoinSet[T]) Spawn(sp Spawner, f Future[T]) AbortHandle {
	return s.spawn(sp, &member[T]{observed: observed[T]{future: f}})
}

// Go starts a stackful task in the set (see the function Go). If it cannot be
// started, JoinNext gives the error. In a closed set fn is not called.
func (s *JoinSet[T]) Go(sp Spawner, fn func(cx *Context) (T, error)) AbortHandle {
	return s.spawn(sp, &member[T]{observed: observed[T]{fn: fn}})
}

// spawn makes the task, puts it into the set, and launches it, in this order: whoever finds
// the member in the set can abort it and take its result, and no lock is held when a task
// that is refused calls the function of its future that may use the set.
func (s *JoinSet[T]) spawn(sp Spawner, m *member[T]) AbortHandle {
	m.set, m.observer = s, m
	rt, w := sp.where()
	// The third reference is the launch's: the result may have been taken before it returns.
	c := newCell(rt, w, Future[T](m), nil, 3*oneRef)
	defer c.unref(nil) // also if Cancel of a task that is refused ends the goroutine
	m.handle.cell = c
	if !s.enter(m) {
		m.giveUp()
		c.refuse(ErrClosed)
		return AbortHandle{}
	}
	c.launch(rt, w)
	return AbortHandle{m}
}

// enter reports whether the member is in the set now. Its task, which is not launched, may
// have ended by then because its runtime has.
func (s *JoinSet[T]) enter(m *member[T]) bool {
	s.mu.Lock()
	if s.closed {
		m.out = true
		s.mu.Unlock()
		return false
	}
	if m.next = s.first; m.next != nil {
		m.next.prev = m
	}
	s.first, m.in = m, true
	s.len++
	if m.over {
		s.end(nil, m)
	} else {
		s.mu.Unlock()
	}
	return true
}

// end puts a member of the set at the end of those that have ended. The lock is held, and
// is not any more when it returns.
func (s *JoinSet[T]) end(cx *Context, m *member[T]) {
	if s.ended == nil {
		s.ended = m
	} else {
		s.newest.nextEnded = m
	}
	s.newest = m
	s.waiters.wakeAll(cx, &s.mu)
}

// Len is the number of tasks whose results have not been taken, whether they are
// done or not.
func (s *JoinSet[T]) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.len
}

// JoinNext takes the result of the next task that ends: its value and error are
// the task's, ErrCancelled if it was aborted. In an empty set, or when the last
// result has gone to somebody else, the error is ErrEmpty. One that is abandoned
// has taken nothing. It takes budget (see Context.Proceed). Several may wait at
// once, each for a result of its own; a task's end then wakes all of them.
func (s *JoinSet[T]) JoinNext() Future[T] { return &joinNext[T]{set: s} }

type joinNext[T any] struct {
	set  *JoinSet[T]
	node waitNode
}

func (j *joinNext[T]) Poll(cx *Context) (T, error) {
	v, empty, err := j.set.take(cx, &j.node)
	if empty {
		return v, ErrEmpty
	}
	return v, err
}

func (j *joinNext[T]) Cancel() { j.set.forget(&j.node) }

func (s *JoinSet[T]) forget(n *waitNode) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiters.remove(n)
}

// take is a poll of JoinNext, which waits with that node. empty: there is no task.
func (s *JoinSet[T]) take(cx *Context, n *waitNode) (v T, empty bool, err error) {
	if !cx.Proceed() {
		return v, false, ErrPending
	}
	s.mu.Lock()
	m := s.ended
	if m == nil {
		defer s.mu.Unlock()
		if s.len == 0 {
			s.waiters.remove(n)
			return v, true, nil
		}
		s.waiters.add(n, cx.Waker())
		return v, false, ErrPending
	}
	s.waiters.remove(n)
	v, err = m.take(cx)
	if err == ErrPending { // its last run is about to return, and wakes us
		s.mu.Unlock()
		return v, false, err
	}
	if s.ended = m.nextEnded; s.ended == nil {
		s.newest = nil
	}
	s.leave(m)
	if s.len == 0 {
		s.waiters.wakeAll(cx, &s.mu) // they wait for nothing
	} else {
		s.mu.Unlock()
	}
	return v, false, err
}

func (s *JoinSet[T]) leave(m *member[T]) {
	if m.prev == nil {
		s.first = m.next
	} else {
		m.prev.next = m.next
	}
	if m.next != nil {
		m.next.prev = m.prev
	}
	m.prev, m.next, m.nextEnded, m.out = nil, nil, nil, true
	s.len--
}

// AbortAll aborts every task of the set (see JoinHandle.Abort). They stay in it
// until their results are taken.
func (s *JoinSet[T]) AbortAll() {
	s.mu.Lock()
	all := make([]*member[T], 0, s.len)
	for m := s.first; m != nil; m = m.next {
		all = append(all, m)
	}
	s.mu.Unlock()
	for _, m := range all {
		m.Abort()
	}
}

// Close aborts every task, gives up its result and leaves the set empty for good. It
// waits for no task. To wait for them, Shutdown comes first.
func (s *JoinSet[T]) Close() {
	s.mu.Lock()
	s.closed = true
	m := s.first
	for o := m; o != nil; o = o.next {
		o.out = true
	}
	s.first, s.ended, s.newest, s.len = nil, nil, nil, 0
	s.waiters.wakeAll(nil, &s.mu)
	for m != nil { // nobody else goes along this list any more
		next := m.next
		m.prev, m.next, m.nextEnded = nil, nil, nil
		m.giveUp()
		m = next
	}
}

// Shutdown aborts every task, from its first poll on, and is done when all have
// ended and their results been released. Others may be spawned afterwards.
func (s *JoinSet[T]) Shutdown() Future[struct{}] { return &setShutdown[T]{set: s} }

type setShutdown[T any] struct {
	set   *JoinSet[T]
	begun bool
	node  waitNode
}

func (f *setShutdown[T]) Poll(cx *Context) (struct{}, error) {
	if !f.begun {
		f.begun = true
		f.set.AbortAll()
	}
	for {
		v, empty, err := f.set.take(cx, &f.node)
		switch {
		case empty:
			return struct{}{}, nil
		case err == ErrPending:
			return struct{}{}, ErrPending
		case err == nil:
			releaseValue(v)
		}
	}
}

func (f *setShutdown[T]) Cancel() { f.set.forget(&f.node) }
