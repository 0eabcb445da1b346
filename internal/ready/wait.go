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
	Takes  bool // the call takes data that has arrived: one such call is woken at a time; fixed before Await
	Leaves bool // the call may leave the socket ready: then it tries again after a change; fixed before Await

	node  list.Node[*Wait]
	woke  chan struct{} // of a goroutine (Block), which receives one element; nil: of a task
	waker sched.Waker   // of the task to wake; zero: the call does not wait, and was not woken
	woken bool          // the direction was reported ready, or err is set
	vain  int           // how many times in a row it was woken and has found nothing; its own task writes it
	turn  bool          // others may wait for this call to end its turn; its own task writes it
	err   error         // why there is nothing to wait for
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
	if err == nil {
		w.vain++
	} else {
		w.vain = 0
	}
	w.turn = w.Takes && err == nil
	w.woken, w.err = false, nil
	return err
}

// Pass ends the turn of a call that has succeeded or failed. If others wait, the kernel is asked
// for them. A call without the turn may call it as well. cx is nil on a goroutine that has none.
func (s *Socket) Pass(cx *sched.Context, d Direction, w *Wait) {
	w.vain = 0
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
	case side.waits.Len() == 0 || s.Closed():
	case side.at == nil:
		_ = s.ask(cx, d) // which wakes the others with its error
	case side.edges && s.readyNow(d): // no edge may come
		s.report(d, cx)
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

// Rouse wakes the first call that takes, and all calls that wait before it. It is for data that the
// caller keeps, and that the kernel does not report.
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
	if err := s.wants(cx, d, w); err != nil {
		return err
	}
	w.waker = cx.Waker()
	s.enlist(d, w)
	return sched.ErrPending
}

// Park is Await for a call that the kernel reports nothing to. It is woken by Close and by the
// deadline, and perhaps in vain by what others wait for. Its task has a timer of its own.
func (s *Socket) Park(cx *sched.Context, d Direction, w *Wait) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.callable(d); err != nil {
		return err
	}
	w.waker = cx.Waker()
	s.sides[d].add(w)
	return sched.ErrPending
}

func (side *side) add(w *Wait) {
	w.turn = false
	w.node.Value = w
	side.waits.PushBack(&w.node)
}

// enlist registers a call. s.mu is held.
func (s *Socket) enlist(d Direction, w *Wait) {
	side := &s.sides[d]
	side.add(w)
	if side.missed || side.edges && !w.Leaves && s.readyNow(d) {
		side.missed = false
		s.report(d, nil)
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
	side.waits.Remove(&w.node)
	if (side.at == nil || side.edges) && (w.turn || w.Takes && w.woken && w.err == nil) {
		s.wakeNext(side, nil)
	}
	w.woken, w.turn, w.err, w.vain, w.waker = false, false, nil, 0, sched.Waker{}
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
	for n := side.waits.Front(); n != nil; n = side.waits.Front() {
		side.wake(n, err, cx)
	}
}

// wakeNext makes the first call that takes try again, and all calls that wait before it. s.mu is
// held. cx may be nil.
func (s *Socket) wakeNext(side *side, cx *sched.Context) {
	for n := side.waits.Front(); n != nil; n = side.waits.Front() {
		takes := n.Value.Takes
		side.wake(n, nil, cx)
		if takes {
			return
		}
	}
}

// report makes calls try again because the direction may be ready. s.mu is held. cx may be nil.
func (s *Socket) report(d Direction, cx *sched.Context) {
	if side := &s.sides[d]; d == In {
		s.wakeNext(side, cx)
	} else {
		s.wake(side, nil, cx) // there is mostly room for several
	}
}

func (side *side) wake(n *list.Node[*Wait], err error, cx *sched.Context) {
	side.waits.Remove(n)
	w := n.Value
	w.woken, w.err = true, err
	switch {
	case w.woke != nil:
		w.woke <- struct{}{} // it has received the one before, so there is room
	case cx != nil:
		cx.Wake(w.waker)
	default:
		w.waker.Wake()
	}
}

// wants sees to it that the kernel reports when a direction is ready. s.mu is held. cx may be nil.
func (s *Socket) wants(cx *sched.Context, d Direction, w *Wait) error {
	side := &s.sides[d]
	if w.vain >= mostVain {
		side.byEdges = true
	}
	if side.at != nil {
		return nil
	}
	return s.ask(cx, d)
}

// mostVain is how many times in a row a call is woken in vain before the kernel is to report
// changes only. Another call may have been faster, which is no reason for that.
const mostVain = 4

// ask makes the kernel report when a direction is ready. If that fails, all waiting calls fail as
// well. s.mu is held. cx may be nil.
func (s *Socket) ask(cx *sched.Context, d Direction) (err error) {
	side := &s.sides[d]
	switch {
	case cx != nil && cx.Runtime() == s.group.RT && cx.Driver() != nil:
		err = s.submit(d, engine.Of(cx))
	case s.home != nil && s.home.R.Carrier(nil) == s.home.R: // which takes operations from any goroutine
		err = s.submit(d, nil)
	case !side.want:
		side.want = true
		s.task.Wake()
	}
	if err != nil {
		s.wake(side, err, nil)
	}
	return err
}

// submit submits the operation, on the worker of a driver or, for nil, at home. s.mu is held.
func (s *Socket) submit(d Direction, by *engine.Driver) error {
	if !s.enter() { // the operation is a user
		return net.ErrClosed
	}
	op := reactor.Op{Kind: kinds[d], FD: s.end.FD, Token: s.end.Token, Edges: s.sides[d].byEdges}
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
	s.home, s.sides[d].at = at, at
	return nil
}

// readyNow asks the kernel whether a direction is ready. s.mu is held.
func (s *Socket) readyNow(d Direction) bool {
	if !s.enter() {
		return false
	}
	defer s.users.Add(-1) // never the last: see submit
	return reactor.Ready(s.end.FD, d == Out)
}
