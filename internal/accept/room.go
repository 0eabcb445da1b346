package accept

import (
	"github.com/suiro-go/suiro/internal/admission"
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/sock"
)

// Arrived counts a connection that waits for a goroutine to take it. Any goroutine may call it.
func (s *Socket) Arrived() {
	if s.waiting.Arrived() {
		s.task.Wake()
	}
}

// Taken counts a connection that a goroutine has taken. Any goroutine may call it.
func (s *Socket) Taken() {
	if s.waiting.Taken() {
		s.task.Wake()
	}
}

// take begins an accepted connection, or refuses it. false: it is kept until there is room.
func (s *Socket) take(d *engine.Driver, a Accepted) bool {
	v := s.group.Limits.Admit(a.Peer.Addr())
	if v == admission.Later {
		s.mu.Lock()
		s.spare = append(s.spare, a)
		s.mu.Unlock()
		return false
	}
	s.settle(d, a, v)
	return true
}

// settle carries out the decision of the limits.
func (s *Socket) settle(d *engine.Driver, a Accepted, v admission.Verdict) {
	switch v {
	case admission.Admitted:
		s.Origin.Part(d.Worker).Begun.Add(1)
		s.Owner.Begin(d, a)
	case admission.RefusedSource:
		s.refuse(d, a, engine.OverMaxPerSource)
	default:
		s.refuse(d, a, engine.OverMaxConns)
	}
}

// refuse resets a connection that no reactor knows yet.
func (s *Socket) refuse(d *engine.Driver, a Accepted, why engine.Refusal) {
	s.Origin.Part(d.Worker).Refused[why].Add(1)
	sock.ResetOnClose(a.FD)
	sock.Close(a.FD)
}

// makeRoom begins those that wait, as far as there is room. It reports whether there is some
// left.
func (s *Socket) makeRoom(d *engine.Driver) bool {
	return s.waiting.Reopen(func() (room, found bool) {
		if !s.awaitRoom() {
			return false, false
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.spare) == 0 {
			return true, false
		}
		a := s.spare[0]
		// else another was quicker: look again
		if v := s.group.Limits.Admit(a.Peer.Addr()); v != admission.Later {
			s.settle(d, a, v)
			s.spare = s.spare[1:]
		}
		return true, true
	})
}

// awaitRoom reports whether there is room; else the task is woken when there is.
func (s *Socket) awaitRoom() bool {
	g := s.group
	return (g.Memory == nil || g.Memory.Await(&s.memory, &s.task)) && g.Limits.Await(&s.place, &s.task)
}

// leave is for a Socket that closes: it waits for no room, and refuses those that do.
func (s *Socket) leave(d *engine.Driver) {
	s.group.Limits.Withdraw(&s.place)
	if s.group.Memory != nil {
		s.group.Memory.Cancel(&s.memory)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.spare {
		s.refuse(d, a, engine.ListenerClosed)
	}
	s.spare = nil
}
