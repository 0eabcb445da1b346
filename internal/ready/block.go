package ready

import (
	"net"
	"sync/atomic"

	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/internal/onworker"
)

// Block waits on a goroutine, which has no task, after a call that found the socket not ready.
// After nil the caller tries again. A call that takes may have the turn then: it ends the turn by
// Pass or Block. Errors are net.ErrClosed, also if the workers have stopped,
// os.ErrDeadlineExceeded, that of onworker.Wait, and that of a reactor that takes no operation.
//
// unread, unless it is nil, says that the caller's socket keeps data that the kernel does not
// report. The code that sets it calls Rouse afterwards. Both use the lock: either Rouse finds the
// call among those that wait, or Block finds unread set.
func (s *Socket) Block(d Direction, w *Wait, unread *atomic.Bool) error {
	if w.Caller.woke == nil {
		w.Caller.woke = bubble.Chan[struct{}](1)
	}
	side := &s.sides[d]
	s.mu.Lock()
	err := side.Callable(&s.life)
	again := unread != nil && unread.Load()
	if err == nil && !again {
		err = onworker.Wait()
	}
	if err != nil || again {
		s.passOn(nil, d, w)
		s.mu.Unlock()
		return err
	}
	if err := s.ask(nil, d); err != nil {
		s.mu.Unlock()
		return err
	}
	s.enlist(d, w)
	s.mu.Unlock()
	select {
	case <-w.Caller.woke:
	case <-s.group.RT.Done():
		s.mu.Lock()
		gone := side.Remove(w)
		s.mu.Unlock()
		if gone {
			return net.ErrClosed
		}
		<-w.Caller.woke
	}
	_, err = w.Resume()
	return err
}
