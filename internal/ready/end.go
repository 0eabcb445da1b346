package ready

import "github.com/suiro-go/suiro/sched"

// An EndWait is the place of a task that waits for the end of a socket. The zero value is ready for
// use.
type EndWait struct {
	waker  sched.Waker
	listed bool
}

// PollEnd is done once the descriptor is closed and its port is free.
func (s *Socket) PollEnd(cx *sched.Context, w *EndWait) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return nil
	}
	w.waker = cx.Waker()
	if !w.listed {
		w.listed = true
		s.ending = append(s.ending, w)
	}
	return sched.ErrPending
}

// DropEnd forgets a task that waits no more.
func (s *Socket) DropEnd(w *EndWait) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.listed = false
	for i, other := range s.ending {
		if other == w {
			last := len(s.ending) - 1
			s.ending[i], s.ending[last] = s.ending[last], nil
			s.ending = s.ending[:last]
			break
		}
	}
}

// conclude is the end of the socket, whose descriptor is closed. cx is nil if the workers have
// stopped.
func (s *Socket) conclude(cx *sched.Context) {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	s.runEnds()
	s.tellEnd(cx)
}

// tellEnd wakes the tasks that wait for the end. cx may be nil.
func (s *Socket) tellEnd(cx *sched.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.group.Census.Leave(s.outbound)
	for _, w := range s.ending {
		if cx != nil {
			cx.Wake(w.waker)
		} else {
			w.waker.Wake()
		}
	}
	s.ending = nil
}
