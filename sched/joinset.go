package sched

import (
	"errors"

	"github.com/suiro-go/suiro/internal/atomics"
)

// ErrEmpty is the error of a JoinNext whose set has no tasks, and of a Select or Race without
// futures: there is nothing to wait for.
var ErrEmpty = errors.New("sched: nothing to wait for")

// A JoinSet is a group of tasks whose results are taken in the order in which the tasks end. The
// zero value is an empty set. It must not be copied. Its methods may be called from any goroutine,
// and concurrently.
//
// Every task's result is either taken by one JoinNext or released (see Releaser). Tasks of a set
// that is no longer used go on running: defer Close. All operations except AbortAll and Close take
// constant time. A task costs one allocation more than a task outside a set.
type JoinSet[T any] struct {
	mu      atomics.Mutex // held for some instructions; no user function is called under it
	closed  bool
	first   *member[T] // a list, in no order, of the members whose results have not been taken
	len     int        // their number
	ended   *member[T] // the members of it that have ended, oldest first
	newest  *member[T] // the last of the ended members
	waiters waitList
	ending  int // the number of Shutdowns that wait: tasks that enter meanwhile are aborted
}

// Spawn starts a stackless task in the set (see the function Spawn). If it cannot be started,
// JoinNext returns the error. In a closed set f is abandoned.
func (s *JoinSet[T]) Spawn(sp Spawner, f Future[T]) AbortHandle {
	mustHaveFuture(f)
	return s.spawn(sp, &member[T]{observed: observed[T]{future: f}})
}

// Go starts a stackful task in the set (see the function Go). If it cannot be started, JoinNext
// returns the error. In a closed set fn is not called.
func (s *JoinSet[T]) Go(sp Spawner, fn func(cx *Context) (T, error)) AbortHandle {
	mustHaveFunction(fn == nil)
	return s.spawn(sp, &member[T]{observed: observed[T]{fn: fn}})
}

// spawn makes the task, puts it into the set, and launches it, in this order. So once the member
// is in the set, it can be aborted and its result taken. No lock is held when a refused task calls
// the Cancel of its future, which may use the set.
func (s *JoinSet[T]) spawn(sp Spawner, m *member[T]) AbortHandle {
	m.set, m.observer = s, m
	rt, w := sp.where()
	m.rt = rt
	// The third reference is for launch: the result may have been taken before launch returns.
	c := newCell(rt, w, Future[T](m), nil, 3*oneRef)
	defer c.unref(nil) // deferred, in case Cancel of a refused task exits the goroutine
	m.handle.cell = c
	if !s.enter(m) {
		m.giveUp()
		c.refuse(ErrClosed)
		return AbortHandle{}
	}
	if m.late {
		m.handle.Abort()
	}
	c.launch(rt, w)
	return AbortHandle{c.task.Waker()}
}

// enter puts the member into the set, and reports false if the set is closed. The task is not
// launched yet. It may have ended already, because its runtime has ended.
func (s *JoinSet[T]) enter(m *member[T]) bool {
	s.mu.Lock()
	if s.closed {
		m.out = true
		s.mu.Unlock()
		return false
	}
	m.late = s.ending > 0
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

// end puts a member of the set behind those that have ended. The lock is held, and end releases
// it.
func (s *JoinSet[T]) end(cx *Context, m *member[T]) {
	if s.ended == nil {
		s.ended = m
	} else {
		s.newest.nextEnded = m
	}
	s.newest = m
	s.waiters.wakeAll(cx, &s.mu)
}

// Len is the number of tasks whose results have not been taken, whether they are done or not.
func (s *JoinSet[T]) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.len
}

// JoinNext takes the result of the next task that ends. Its value and error are the task's; the
// error is ErrCanceled if the task was aborted. In an empty set the error is ErrEmpty, also if
// another caller has taken the last result. A JoinNext that is abandoned has taken nothing. It
// uses budget (see Context.Proceed). Several may wait at once, each for a result of its own; the
// end of a task wakes all of them.
func (s *JoinSet[T]) JoinNext() Future[T] { return &joinNext[T]{set: s} }

// TryJoinNext takes the result of a task that has ended. false: none has ended, or the set is
// empty (see Len). It uses no budget. Any goroutine may call it, also while others wait in
// JoinNext: each result is taken once.
func (s *JoinSet[T]) TryJoinNext() (Result[T], bool) {
	s.mu.Lock()
	m := s.ended
	if m == nil || !m.handle.Done() { // the last run of the task is about to return
		s.mu.Unlock()
		return Result[T]{}, false
	}
	v, err := m.take(nil)
	s.took(nil, m)
	return Result[T]{v, err}, true
}

type joinNext[T any] struct {
	set  *JoinSet[T]
	node waitNode
	done Undoer // the member whose result was taken
}

func (j *joinNext[T]) Poll(cx *Context) (T, error) {
	v, m, err := j.set.take(cx, &j.node)
	if m != nil {
		j.done = m
	}
	return v, err
}

// Undo undoes the result that was taken.
func (j *joinNext[T]) Undo() {
	u := j.done
	j.done = nil
	undo(u)
}

func (j *joinNext[T]) Cancel() { j.set.forget(&j.node) }

func (s *JoinSet[T]) forget(n *waitNode) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiters.remove(n)
}

// take is a poll of JoinNext, which waits with that node. m is the member whose result it has
// taken, and can undo that. nil: no result; then err is ErrPending, or ErrEmpty in an empty set.
func (s *JoinSet[T]) take(cx *Context, n *waitNode) (v T, m *member[T], err error) {
	if !cx.Proceed() {
		return v, nil, ErrPending
	}
	s.mu.Lock()
	m = s.ended
	if m == nil {
		defer s.mu.Unlock()
		if s.len == 0 {
			s.waiters.remove(n)
			return v, nil, ErrEmpty
		}
		s.waiters.add(n, cx.Waker())
		cx.Refund()
		return v, nil, ErrPending
	}
	s.waiters.remove(n)
	v, err = m.take(cx)
	if err == ErrPending { // the last run of the task is about to return, and wakes us
		s.mu.Unlock()
		cx.Refund()
		return v, nil, err
	}
	s.took(cx, m)
	return v, m, err
}

// took removes the first ended member from the set. The lock is held, and took releases it.
func (s *JoinSet[T]) took(cx *Context, m *member[T]) {
	if s.ended = m.nextEnded; s.ended == nil {
		s.newest = nil
	}
	s.leave(m)
	if s.len == 0 {
		s.waiters.wakeAll(cx, &s.mu) // there is nothing to wait for any more
	} else {
		s.mu.Unlock()
	}
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

// AbortAll aborts every task of the set (see JoinHandle.Abort). The tasks stay in the set until
// their results are taken.
func (s *JoinSet[T]) AbortAll() {
	s.mu.Lock()
	all := make([]*member[T], 0, s.len)
	for m := s.first; m != nil; m = m.next {
		all = append(all, m)
	}
	s.mu.Unlock()
	for _, m := range all {
		m.handle.Abort()
	}
}

// Close aborts every task, gives up its result and leaves the set empty for good. It does not wait
// for the tasks. To wait for them, call Shutdown before.
func (s *JoinSet[T]) Close() {
	s.mu.Lock()
	s.closed = true
	all := make([]*member[T], 0, s.len)
	for m := s.first; m != nil; m = m.next {
		m.out = true
		all = append(all, m)
	}
	s.first, s.ended, s.newest, s.len = nil, nil, nil, 0
	s.waiters.wakeAll(nil, &s.mu)
	for _, m := range all { // nobody else uses this list any more
		m.prev, m.next, m.nextEnded = nil, nil, nil
	}
	giveUp(all, (*member[T]).giveUp) // also if a Release exits the goroutine
}

// Shutdown aborts every task of the set at its first poll. Until it is done or abandoned, it also
// aborts each task that enters the set. It is done when all tasks have ended and their results have
// been released. More tasks may be spawned afterwards.
func (s *JoinSet[T]) Shutdown() Future[struct{}] { return &setShutdown[T]{set: s} }

type setShutdown[T any] struct {
	set   *JoinSet[T]
	begun bool // it is counted in ending
	node  waitNode
}

func (f *setShutdown[T]) Poll(cx *Context) (struct{}, error) {
	if !f.begun {
		f.begun = true
		f.set.addEnding(1) // before AbortAll, which finds all tasks that entered before
		f.set.AbortAll()
	}
	for {
		v, m, err := f.set.take(cx, &f.node)
		switch {
		case m != nil:
			m.rt.logLost(err)
			drop(m, v, err)
		case err == ErrEmpty:
			f.Cancel()
			return struct{}{}, nil
		default:
			return struct{}{}, err
		}
	}
}

// Cancel ends the wait. Tasks that enter from now on are not aborted.
func (f *setShutdown[T]) Cancel() {
	if f.begun {
		f.begun = false
		f.set.addEnding(-1)
	}
	f.set.forget(&f.node)
}

// addEnding counts the Shutdowns that wait.
func (s *JoinSet[T]) addEnding(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ending += n
}
