package accept

import (
	"net"
	"time"

	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
)

// This file closes a socket while the handler on its worker does not return. The worker may have
// the descriptor's number in a submission that it has not made yet. So the number must not become
// another file's. An inert socket takes its place, and is closed by the worker, if that ever goes
// on. The kernel's operations in flight on the socket are canceled from here.
//
// The cancel comes after the inert socket. A run that began before Close may be slow, and submit
// its operation at any moment. If the kernel takes that before the number changes hands, the cancel
// ends it. If it takes it later, the operation is one of the inert socket, and fails. The other way
// round an operation that the kernel takes between the two would keep the socket.

// severAfter is how long a Socket's task has to close it. A worker that is not stuck may still be
// in a pause of the garbage collector, or without a processor.
const severAfter = 50 * time.Millisecond

// severed is how long Close goes on to wait then. The worker may only be slow, and the kernel ends
// canceled operations on the thread of the stuck worker.
const severed = 100 * time.Millisecond

// severEvery is how often Close looks meanwhile.
const severEvery = 10 * time.Millisecond

// Close makes the task close the descriptor, and returns when the socket accepts nothing more. The
// error is net.ErrClosed if Close was called before. It matches engine.ErrStuck if the worker is
// stuck and the socket cannot be closed without it, as on Windows.
func (s *Socket) Close() error {
	s.mu.Lock()
	again := s.stop
	s.stop = true
	if !again {
		s.group.late.add(s)
	}
	s.mu.Unlock()
	if again {
		return net.ErrClosed
	}
	s.task.Wake()
	return bubble.Call(s.awaitClose)
}

// awaitClose waits until the task has closed the descriptor, or is without it. If its task
// does not run, the listening socket refuses new connections all the same.
func (s *Socket) awaitClose() error {
	passed := severAfter // by the looks: see engine.GiveUp
	look := time.NewTimer(severAfter)
	defer look.Stop()
	over := time.Duration(0) // since when the socket refuses; 0: it does not
	for first := true; ; first = false {
		select {
		case <-s.closed:
			return nil
		case <-s.group.Engine.RT.Done():
			s.finish()
			return nil
		case <-look.C:
		}
		retired := s.retire() && over == 0
		if retired {
			over = passed
		}
		if first || retired {
			s.group.Engine.Expel(&s.end, reactor.Accept)
		} else {
			s.group.Engine.Nudge()
		}
		switch {
		case over > 0 && passed-over >= severed:
			return nil
		case passed >= engine.GiveUp:
			return s.StuckError()
		}
		look.Reset(severEvery)
		passed += severEvery
	}
}

// StuckError matches engine.ErrStuck, and says in which task the Socket's worker is, if that is
// known.
func (s *Socket) StuckError() error { return s.group.Engine.StuckOn(int(s.on.Load())) }

// retire puts an inert socket in the descriptor's place. false: it could not, yet.
func (s *Socket) retire() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone || s.inert {
		return true
	}
	if s.shared {
		s.kept = sock.Keep(s.end.FD)
	}
	s.inert = s.group.Engine.Inert.Retire(s.end.FD) == nil
	if !s.inert && s.kept > 0 { // the socket must end with its own descriptor
		sock.Close(s.kept)
		s.kept = 0
	}
	return s.inert
}

// finish closes the descriptor once the workers have stopped: the task will not run again.
func (s *Socket) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.gone {
		s.gone = true
		sock.Close(s.end.FD)
		if s.kept > 0 {
			sock.Close(s.kept)
		}
	}
	s.group.late.remove(s)
}
