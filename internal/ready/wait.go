package ready

import (
	"net"
	"os"

	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/list"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// A Wait is the place of one call that waits. It is a field of the call's future. The zero value is
// ready for use. It must not be copied while it is registered. Its call's own task writes waker.
type Wait struct {
	Takes bool // the call takes data that has arrived: one such call is woken at a time; fixed before Await

	node    list.Node[*Wait]
	woke    chan struct{} // of a goroutine (Block), which receives one element; nil: of a task
	waker   sched.Waker   // of the task to wake; zero: the call does not wait, and was not woken
	woken   bool          // the direction was reported ready, or err is set
	Attempt               // the last one, unless the call has waited since; its own task writes it
	parked  bool          // it waits by Park
	turn    bool          // others may wait for this call to end its turn; its own task writes it
	err     error         // why there is nothing to wait for
}

// An Attempt is a system call that may have found the socket not ready. The zero value is none.
type Attempt struct {
	made  bool
	edges uint32 // how many edges had come before it
}

// Registered reports whether the call was registered and not resumed since. Only its own task asks.
func (w *Wait) Registered() bool { return w.waker != (sched.Waker{}) }

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
	if !w.woken {
		w.waker = cx.Waker()
		return sched.ErrPending
	}
	err := w.resumed()
	w.waker = sched.Waker{}
	return err
}

// resumed takes the result of a wait, and gives the call its turn.
func (w *Wait) resumed() error {
	err := w.err
	w.turn = w.Takes && err == nil
	w.woken, w.err = false, nil
	return err
}

// Pass ends the turn of a call that has succeeded or failed. If others wait, the kernel is asked
// for them. A call without the turn may call it as well. cx is nil on a goroutine that has none.
func (s *Socket) Pass(cx *sched.Context, d Direction, w *Wait) {
	if !w.turn {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.passOn(cx, d, w)
}

// passOn ends the turn of a call, if it has it. s.mu is held.
func (s *Socket) passOn(cx *sched.Context, d Direction, w *Wait) {
	if !w.turn {
		return
	}
	w.turn = false
	side := &s.sides[d]
	switch {
	case side.takers.Len() == 0 || s.Closed():
	case reactor.Rewatches:
		_ = s.ask(cx, d) // which wakes the others with its error
	case s.readyNow(d): // no edge may come
		s.wakeNext(side, cx)
	}
}

// callable is why there can be no call in a direction, or nil.
func (s *Socket) callable(d Direction) error {
	switch {
	case s.Closed():
		return net.ErrClosed
	case s.late[d].Load():
		return os.ErrDeadlineExceeded
	}
	return nil
}

// Rouse wakes the first call that takes. It is for data that the caller keeps, and that the kernel
// does not report.
func (s *Socket) Rouse(d Direction) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wakeNext(&s.sides[d], nil)
}

// Await registers a call that found the socket not ready, and returns sched.ErrPending: the task of
// cx is woken when the call is to be tried again. Other errors are those of Resume, and what a
// reactor that takes no operation returns.
func (s *Socket) Await(cx *sched.Context, d Direction, w *Wait) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.callable(d); err != nil {
		return err
	}
	if err := s.ask(cx, d); err != nil {
		return err
	}
	w.waker = cx.Waker()
	s.enlist(d, w)
	return sched.ErrPending
}

// Park is Await for a call that the kernel reports nothing to. It is woken by Close and by the
// deadline. Its task has a timer of its own.
func (s *Socket) Park(cx *sched.Context, d Direction, w *Wait) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.callable(d); err != nil {
		return err
	}
	w.waker, w.parked = cx.Waker(), true
	s.sides[d].add(w)
	return sched.ErrPending
}

// of is the list for a call.
func (side *side) of(w *Wait) *list.List[*Wait] {
	switch {
	case w.parked:
		return &side.parked
	case w.Takes:
		return &side.takers
	}
	return &side.others
}

func (side *side) add(w *Wait) {
	w.turn = false
	w.node.Value = w
	side.of(w).PushBack(&w.node)
}

// enlist registers a call. It is woken at once if there was an edge since it has tried. A call that
// has not tried asks the kernel, since no edge may come. s.mu is held.
func (s *Socket) enlist(d Direction, w *Wait) {
	side := &s.sides[d]
	side.add(w)
	again := side.edges.Load() != w.Attempt.edges
	if !w.made {
		again = s.readyNow(d)
	}
	w.Attempt = Attempt{}
	if again {
		side.wake(&w.node, nil, nil)
	}
}

// Drop forgets a call that is not polled any more. If it was woken, or has the turn, the next call
// is woken instead.
func (s *Socket) Drop(d Direction, w *Wait) {
	if !w.Registered() && !w.turn {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	side := &s.sides[d]
	side.of(w).Remove(&w.node)
	w.parked = false
	if w.turn || w.Takes && w.woken && w.err == nil {
		s.wakeNext(side, nil)
	}
	w.woken, w.turn, w.err, w.waker, w.Attempt = false, false, nil, sched.Waker{}, Attempt{}
}

// PollEnd is done once the descriptor is closed and its port is free.
func (s *Socket) PollEnd(cx *sched.Context, w *Wait) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return nil
	}
	if !w.Registered() {
		s.ending = append(s.ending, w)
	}
	w.waker = cx.Waker()
	return sched.ErrPending
}

// DropEnd is Drop after PollEnd.
func (s *Socket) DropEnd(w *Wait) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, other := range s.ending {
		if other == w {
			last := len(s.ending) - 1
			s.ending[i], s.ending[last] = s.ending[last], nil
			s.ending = s.ending[:last]
			break
		}
	}
	w.waker = sched.Waker{}
}

// wake makes the calls of a side try again, or fail with err. s.mu is held. cx may be nil.
func (s *Socket) wake(side *side, err error, cx *sched.Context) {
	for n := side.takers.Front(); n != nil; n = side.takers.Front() {
		side.wake(n, err, cx)
	}
	for n := side.others.Front(); n != nil; n = side.others.Front() {
		side.wake(n, err, cx)
	}
	for n := side.parked.Front(); n != nil; n = side.parked.Front() {
		side.wake(n, err, cx)
	}
}

// wakeNext makes the first call that takes try again. s.mu is held. cx may be nil.
func (s *Socket) wakeNext(side *side, cx *sched.Context) {
	if n := side.takers.Front(); n != nil {
		side.wake(n, nil, cx)
	}
}

// report makes calls try again because the direction may be ready: the first of those that take,
// and all others. s.mu is held. cx may be nil.
func (s *Socket) report(d Direction, cx *sched.Context) {
	side := &s.sides[d]
	s.wakeNext(side, cx)
	for n := side.others.Front(); n != nil; n = side.others.Front() {
		side.wake(n, nil, cx)
	}
}

func (side *side) wake(n *list.Node[*Wait], err error, cx *sched.Context) {
	w := n.Value
	side.of(w).Remove(n)
	w.woken, w.parked, w.err = true, false, err
	switch {
	case w.woke != nil:
		w.woke <- struct{}{} // it has received the one before, so there is room
	case cx != nil:
		cx.Wake(w.waker)
	default:
		w.waker.Wake()
	}
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
		s.wake(&s.sides[d], err, nil)
	}
	return err
}

// watch submits the Watch, on the worker of a driver or, for nil, at home. s.mu is held.
func (s *Socket) watch(by *engine.Driver) error {
	if !s.enter() { // the Watch is a user
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
		s.users.Add(-1) // never the last of a closed socket: Close is a user until it has had s.mu
		return err
	}
	s.home, s.watched = at, true
	return nil
}

// readyNow asks the kernel whether a direction is ready. s.mu is held.
func (s *Socket) readyNow(d Direction) bool {
	if !s.enter() {
		return false
	}
	defer s.users.Add(-1) // never the last: see watch
	return reactor.Ready(s.end.FD, d == Out)
}
