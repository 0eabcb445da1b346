package ready

import (
	"net"
	"time"
)

// SetDeadline makes calls of a direction fail from at on, also waiting ones. 0: no deadline. at is
// the runtime's time. The error is net.ErrClosed after Close.
func (s *Socket) SetDeadline(d Direction, at time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Closed() {
		return net.ErrClosed
	}
	side := &s.sides[d]
	side.deadline = at
	switch {
	case at == 0:
		side.Extend()
	case at <= s.group.RT.Now():
		side.Expire(nil)
	default:
		side.Extend()
		s.startTimer(side)
	}
	return nil
}

// Expire fails the calls of a direction as after a deadline that has passed, until SetDeadline. It
// is for a caller that has a timer of its own.
func (s *Socket) Expire(d Direction) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.Closed() {
		side := &s.sides[d]
		side.deadline = 0
		side.Expire(nil)
	}
}

// startTimer sees to it that the task runs by the deadline. A timer that fires earlier is left
// alone: it is started again then. s.mu is held.
func (s *Socket) startTimer(side *side) {
	if side.armed == 0 || side.deadline < side.armed {
		side.armed = side.deadline
		s.group.RT.StartTimer(&side.timer, side.deadline, s.task.Waker())
	}
}

func (s *Socket) stopTimer(side *side) {
	if side.armed != 0 {
		side.armed = 0
		s.group.RT.StopTimer(&side.timer)
	}
}

// checkTimer acts on a deadline that has passed. s.mu is held.
func (s *Socket) checkTimer(d Direction, now time.Duration) {
	side := &s.sides[d]
	if side.armed == 0 || !side.timer.Fired() {
		return
	}
	side.armed = 0
	switch {
	case side.deadline == 0 || side.Late() || s.Closed():
	case now >= side.deadline:
		side.Expire(nil)
	default:
		s.startTimer(side)
	}
}
