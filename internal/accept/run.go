package accept

import (
	"slices"
	"syscall"
	"time"

	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// harmless are errors of one connection, or the end of an Accept that was canceled.
var harmless = []syscall.Errno{syscall.ECONNABORTED, syscall.EINTR, syscall.ECANCELED}

// The back-off after an accept error, as net/http has it.
const (
	minPause = 5 * time.Millisecond
	maxPause = time.Second
)

// Run implements sched.Body: it keeps an Accept in flight until the Socket is closed.
func (s *Socket) Run(cx *sched.Context) (done bool) {
	d := engine.Of(cx)
	s.retry.Rang() // until and closing say which action is due
	s.mu.Lock()
	ended, errno, stop := s.ended, s.errno, s.stop
	s.ended = false
	s.mu.Unlock()
	if ended {
		s.accepting, s.stopping = false, false
	}
	room := stop || s.makeRoom(d)
	defer s.passOn()
	switch {
	case (stop || !room) && s.accepting:
		if stop || !s.stopping {
			s.stopping = true
			d.Cancel(s.home, &s.end, reactor.Accept)
		}
		return false
	case !room:
		return false // a caller that makes room wakes it
	case stop && s.closing != 0 && cx.Now() > s.closing:
		s.group.late.remove(s)
		s.group.Engine.Origins.Unuse(s.Origin)
		close(s.closed)
		return true
	case stop:
		if s.closing == 0 {
			s.takeLeft(d)
			s.leave(d)
			s.closing = max(1, cx.Now()) // 0 is the time at which a virtual clock begins
			s.group.Engine.Table.Remove(&s.end)
			s.mu.Lock()
			s.gone = true
			s.mu.Unlock()
			d.CloseFD(s.home, s.end.FD, false)
		}
		// The kernel may be about to let go of the Accept that has just ended: look again in a
		// later tick.
		s.retry.Set(s.group.Engine.RT, s.closing+1, s.task.Waker())
	case ended && errno != 0 && !slices.Contains(harmless, errno):
		s.backOff(cx, d, sock.Error("accept", errno))
	case s.accepting:
	case s.group.Engine.RT.Now() >= s.until: // cx.Now may be from before the alarm rang, elsewhere
		s.accept(cx, d)
	default: // an alarm that was set for an earlier back-off may have rung
		s.retry.Set(s.group.Engine.RT, s.until, s.task.Waker())
	}
	return false
}

// passOn is the end of a run that memory may have woken: see membudget.Budget.WakeNext.
func (s *Socket) passOn() {
	if s.group.Memory != nil && s.group.Memory.WakeNext() {
		s.Owner.Shed()
	}
}

// accept takes one connection at a time where they count: a multishot accept would empty the
// kernel's queue before the Socket could stop it.
func (s *Socket) accept(cx *sched.Context, d *engine.Driver) {
	s.accepting = true
	s.home = d.Via(s.home)
	s.on.Store(int32(s.home.Worker))
	one := s.Backlog > 0 || s.group.Limits.Bounded()
	if err := d.Submit(s.home, reactor.Op{Kind: reactor.Accept, FD: s.end.FD, Token: s.end.Token, One: one}); err != nil {
		s.accepting = false
		s.backOff(cx, d, err)
	}
}

// backOff waits before the next attempt: descriptors that are used up do not come back by
// trying.
func (s *Socket) backOff(cx *sched.Context, d *engine.Driver, err error) {
	s.Origin.Part(d.Worker).AcceptErrors.Add(1)
	if s.went.Swap(false) {
		s.pause = 0 // as in net/http
	}
	s.pause = min(max(minPause, 2*s.pause), maxPause)
	s.until = cx.Now() + s.pause
	s.group.Engine.Logger.Warn("conn: accept failed, trying again", "addr", s.Addr, "in", s.pause, "error", sock.Advise(err))
	s.retry.Set(s.group.Engine.RT, s.until, s.task.Waker())
}
