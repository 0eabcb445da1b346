package ready

import (
	"net"

	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/readiness"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// A Wait is the place of one call that waits, a field of the call's future.
type Wait = readiness.Wait[caller, *sched.Context]

// An Attempt is a system call that may have found the socket not ready. The zero value is none.
type Attempt = readiness.Attempt

// A caller is the goroutine or the task that makes a call.
type caller struct {
	woke  chan struct{} // of a goroutine (Block), which receives one element; nil: of a task
	waker sched.Waker   // of the task
}

// Wake implements readiness.Caller. cx is nil on a goroutine that has none.
func (c caller) Wake(cx *sched.Context) {
	switch {
	case c.woke != nil:
		c.woke <- struct{}{} // it has received the one before, so there is room
	case cx != nil:
		cx.Wake(c.waker)
	default:
		c.waker.Wake()
	}
}

// Resume is for the start of each poll of the call. It returns nil if the call is to be tried, and
// sched.ErrPending if it still waits: then the task of cx is woken in its time. Other errors say
// why the call can never succeed: net.ErrClosed and os.ErrDeadlineExceeded, as they are.
//
// After nil a call that takes has the turn. It ends the turn by Pass, Await or Drop.
func (s *Socket) Resume(cx *sched.Context, w *Wait) error {
	if !w.Registered() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	waits, err := w.Resume()
	if waits {
		w.Caller.waker = cx.Waker()
		return sched.ErrPending
	}
	return err
}

// Pass ends the turn of a call that has succeeded or failed. If others wait, the kernel is asked
// for them. A call without the turn may call it as well. cx is nil on a goroutine that has none.
func (s *Socket) Pass(cx *sched.Context, d Direction, w *Wait) {
	if !w.HasTurn() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.passOn(cx, d, w)
}

// passOn ends the turn of a call, if it has it. s.mu is held.
func (s *Socket) passOn(cx *sched.Context, d Direction, w *Wait) {
	side := &s.sides[d]
	switch {
	case !side.Pass(w) || s.Closed():
	case reactor.Rewatches:
		_ = s.ask(cx, d) // which wakes the others with its error
	case s.readyNow(d): // no edge may come
		side.Next(cx)
	}
}

// Rouse wakes the first call that takes. It is for data that the caller keeps, and that the kernel
// does not report.
func (s *Socket) Rouse(d Direction) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sides[d].Next(nil)
}

// Await registers a call that found the socket not ready, and returns sched.ErrPending: the task of
// cx is woken when the call is to be tried again. Other errors are those of Resume, and what a
// reactor that takes no operation returns.
func (s *Socket) Await(cx *sched.Context, d Direction, w *Wait) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.sides[d].Callable(&s.life); err != nil {
		return err
	}
	if err := s.ask(cx, d); err != nil {
		return err
	}
	w.Caller.waker = cx.Waker()
	s.enlist(d, w)
	return sched.ErrPending
}

// Park is Await for a call that the kernel reports nothing to. It is woken by Close and by the
// deadline. Its task has a timer of its own.
func (s *Socket) Park(cx *sched.Context, d Direction, w *Wait) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.sides[d].Callable(&s.life); err != nil {
		return err
	}
	w.Caller.waker = cx.Waker()
	s.sides[d].Park(w)
	return sched.ErrPending
}

// enlist registers a call. s.mu is held.
func (s *Socket) enlist(d Direction, w *Wait) {
	s.sides[d].Add(w, !w.Made() && s.readyNow(d), nil)
}

// Drop forgets a call that is not polled any more. If it was woken, or has the turn, the next call
// is woken instead.
func (s *Socket) Drop(d Direction, w *Wait) {
	if !w.Registered() && !w.HasTurn() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sides[d].Drop(w, nil)
}

// ask sees to it that the kernel reports when a direction is ready. If that fails, all waiting
// calls fail as well. s.mu is held. cx may be nil.
func (s *Socket) ask(cx *sched.Context, d Direction) (err error) {
	told := s.watched && (d == In || s.room) // and so of the next edge
	s.room = s.room || d == Out
	switch {
	case told && !reactor.Rewatches:
	case s.watched:
		err = s.home.R.Submit(&reactor.Op{Kind: reactor.Rewatch, FD: s.end.FD, Token: s.end.Token, Edge: edges[d]})
	case cx != nil && cx.Runtime() == s.group.RT && cx.Driver() != nil:
		err = s.watch(engine.Of(cx))
	case s.home != nil && s.home.R.Carrier(nil) == s.home.R: // which takes operations from any goroutine
		err = s.watch(nil)
	case !s.want:
		s.want = true
		s.task.Wake()
	}
	if err != nil {
		s.sides[d].Fail(err, nil)
	}
	return err
}

// watch submits the Watch, on the worker of a driver or, for nil, at home. s.mu is held.
func (s *Socket) watch(by *engine.Driver) error {
	if !s.life.Hold() { // the Watch is a user
		return net.ErrClosed
	}
	op := reactor.Op{Kind: reactor.Watch, FD: s.end.FD, Token: s.end.Token, Edge: reactor.EdgeIn}
	if s.room { // seldom: then each datagram that has left makes an edge
		op.Edge |= reactor.EdgeOut
	}
	at := s.home
	var err error
	if by != nil {
		at = by.Via(s.home)
		err = by.Submit(at, op)
	} else {
		s.op = op
		err = at.R.Submit(&s.op)
	}
	if err != nil {
		_ = s.life.Release() // never the last of a closed socket: Close is a user until it has had s.mu
		return err
	}
	s.home, s.watched = at, true
	return nil
}

// readyNow asks the kernel whether a direction is ready. s.mu is held.
func (s *Socket) readyNow(d Direction) bool {
	if !s.life.Hold() {
		return false
	}
	ready := reactor.Ready(s.end.FD, d == Out)
	_ = s.life.Release() // never the last: see watch
	return ready
}
