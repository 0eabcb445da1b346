package ready

import (
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/readiness"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// A Direction is what a call does.
type Direction int

// The directions.
const (
	In Direction = iota
	Out
)

var edges = [...]reactor.Edge{In: reactor.EdgeIn, Out: reactor.EdgeOut}

// A Socket is a non-blocking descriptor and the calls that wait for it. All methods may be called
// from any goroutine, and from tasks on any worker.
type Socket struct {
	end      engine.Endpoint
	group    *engine.Group
	task     sched.Task // submits for goroutines, watches deadlines, ends
	outbound bool
	life     readiness.Life

	mu      sync.Mutex     // guards the fields below, and is the mutex of the sides
	sides   [2]side        // by direction
	home    *engine.Driver // whose reactor has the Watch, or had it last; nil: none
	watched bool           // the Watch is in flight
	room    bool           // it is to report room, too
	want    bool           // the task is to submit it
	op      reactor.Op     // for Submit by a goroutine
	ending  []*EndWait     // wait for the end
	ends    []func()       // are called at the end
	first   func()         // the task calls it in its next run
	retired bool           // the descriptor is an inert one
	gone    bool           // the descriptor is closed
	cast    bool           // the Watch was in flight at Close
	over    bool           // the task has ended
	dead    bool           // the workers have stopped: the task runs no more
	timer   sched.Timer    // of the end
}

// A side is the state of one direction.
type side struct {
	readiness.Side[caller, *sched.Context]
	deadline time.Duration // the runtime's time; 0: none
	armed    time.Duration // when the timer fires; 0: it does not
	timer    sched.Timer
}

// Open takes a descriptor over. With an error it is closed. outbound says that it was dialed.
func (s *Socket) Open(g *engine.Group, fd int, outbound bool) error {
	if err := prepare(g, fd, outbound); err != nil {
		sock.Close(fd)
		s.mu.Lock()
		s.over = true
		s.mu.Unlock()
		s.runEnds()
		return err
	}
	s.group, s.outbound = g, outbound
	s.end.FD, s.end.Target = fd, (*target)(s)
	s.task.Init(g.RT, (*body)(s))
	g.Table.Add(&s.end)
	if g.Draining(outbound) { // a stage that began before Add was not told to this socket
		_ = s.Close()
		return net.ErrClosed
	}
	g.AbandonLate((*target)(s))
	return nil
}

func prepare(g *engine.Group, fd int, outbound bool) error {
	if err := g.Start(); err != nil {
		return err
	}
	if errno := reactor.PrepareTry(fd); errno != 0 {
		return sock.Error("ioctlsocket", errno)
	}
	if !g.Enter(outbound) {
		return net.ErrClosed
	}
	return nil
}

// Begin makes the socket's task call f once, before the task ends. It is for a caller that holds a
// lock. f must not panic.
func (s *Socket) Begin(f func()) {
	s.mu.Lock()
	s.first = f
	s.mu.Unlock()
	s.task.Wake()
}

// NotifyEnd registers f to be called once the descriptor is closed. If it is closed already, also
// because Open has failed, f is called at once. f must neither block nor panic. NotifyEnd may be
// called before Open.
func (s *Socket) NotifyEnd(f func()) {
	s.mu.Lock()
	over := s.over
	if !over {
		s.ends = append(s.ends, f)
	}
	s.mu.Unlock()
	if over {
		f()
	}
}

// runEnds calls the functions of NotifyEnd, once over is set.
func (s *Socket) runEnds() {
	s.mu.Lock()
	ends := s.ends
	s.ends = nil
	s.mu.Unlock()
	for _, f := range ends {
		f()
	}
}

// Group is the group that the socket belongs to.
func (s *Socket) Group() *engine.Group { return s.group }

// Enter begins a call in a direction. It returns the descriptor, which stays valid until Leave, or
// why there can be no call: net.ErrClosed or os.ErrDeadlineExceeded. It sets a, which the call's
// Wait then has if the call waits.
func (s *Socket) Enter(d Direction, a *Attempt) (fd int, err error) {
	side := &s.sides[d]
	if side.Late() && !s.Closed() {
		return -1, os.ErrDeadlineExceeded
	}
	if !s.life.Hold() {
		return -1, net.ErrClosed
	}
	*a = side.Try()
	return s.end.FD, nil
}

// EnterAny is Enter for a call of no direction, such as setting an option.
func (s *Socket) EnterAny() (fd int, err error) {
	if !s.life.Hold() {
		return -1, net.ErrClosed
	}
	return s.end.FD, nil
}

// Leave ends a call.
func (s *Socket) Leave() {
	if s.life.Release() {
		s.finish()
	}
}

// Closed reports whether Close was called.
func (s *Socket) Closed() bool { return s.life.Closed() }

// Close makes all waiting and all later calls return net.ErrClosed. The descriptor is closed as
// soon as no call uses it. A second Close returns net.ErrClosed.
func (s *Socket) Close() error {
	if !s.life.Close() {
		return net.ErrClosed
	}
	s.mu.Lock()
	s.want = false
	for d := range s.sides {
		s.sides[d].Fail(net.ErrClosed, nil)
		s.stopTimer(&s.sides[d])
	}
	if s.watched {
		s.cast = true
		_ = s.home.R.Submit(&reactor.Op{Kind: reactor.Cancel, Target: reactor.Watch, Token: s.end.Token, FD: s.end.FD})
	}
	s.mu.Unlock()
	s.Leave()
	return nil
}

// finish closes the descriptor, which has no users any more.
func (s *Socket) finish() {
	s.group.Table.Remove(&s.end)
	s.mu.Lock()
	s.gone = true
	home, wait, dead := s.home, s.cast, s.dead
	s.mu.Unlock()
	if dead {
		sock.Close(s.end.FD)
		s.conclude(nil)
		return
	}
	if home == nil || home.R.Submit(&reactor.Op{Kind: reactor.Close, FD: s.end.FD, NoWait: true}) != nil {
		sock.Close(s.end.FD)
	}
	if wait {
		// The kernel may be about to let go of the operation that has just ended, and with it of
		// the socket. A caller that waits for the end may want the port, so the end is in a later
		// tick.
		s.group.RT.StartTimer(&s.timer, s.group.RT.Now()+1, s.task.Waker())
		return
	}
	s.task.Wake()
}

// A target is what reactors and the group tell a Socket.
type target Socket

var (
	_ engine.Target    = (*target)(nil)
	_ engine.Ordered   = (*target)(nil)
	_ engine.Abandoned = (*target)(nil)
)

// Deliver implements engine.Target.
func (t *target) Deliver(by *engine.Driver, e *reactor.Completion) {
	s := (*Socket)(t)
	s.mu.Lock()
	if e.Res > 0 {
		for d := range s.sides {
			if reactor.Edge(e.Res)&edges[d] != 0 {
				s.sides[d].Edge(by.Cx)
			}
		}
	}
	if !e.More {
		s.watched = false
		s.unwatched(e, by.Cx)
	}
	s.mu.Unlock()
	if !e.More {
		s.Leave() // the Watch was a user
	}
}

// unwatched deals with the end of the Watch. Calls that wait need another one, or fail. s.mu is
// held.
func (s *Socket) unwatched(e *reactor.Completion, cx *sched.Context) {
	errno := e.Errno()
	again := e.Res >= 0 || errno == syscall.EAGAIN || errno == syscall.EINTR || errno == syscall.ENOBUFS
	for d := range s.sides {
		side := &s.sides[d]
		switch {
		case s.Closed() || !side.Waits():
		case again:
			_ = s.ask(cx, Direction(d)) // which wakes the calls with its error
		default:
			side.Fail(sock.Error("poll", errno), cx)
		}
	}
}

// Obey implements engine.Ordered.
func (t *target) Obey(o engine.Order) {
	s := (*Socket)(t)
	switch o {
	case engine.Sever:
		s.sever()
	case engine.Stage:
		if s.group.Draining(s.outbound) {
			_ = s.Close()
		}
	default:
		_ = s.Close()
	}
}

// sever closes the socket and gives its port back, although the worker that has the operations does
// not run.
func (s *Socket) sever() {
	_ = s.Close()
	s.mu.Lock()
	was, retire := engine.Endpoint{Token: s.end.Token, FD: s.end.FD}, !s.gone && !s.retired
	if retire {
		s.retired = s.group.Inert.Retire(was.FD) == nil
	}
	s.mu.Unlock()
	if retire {
		s.group.Expel(&was, reactor.Watch)
	}
}

// Abandon implements engine.Abandoned. Of the users of the descriptor only calls are left, and the
// last of them closes it.
func (t *target) Abandon() {
	s := (*Socket)(t)
	s.mu.Lock()
	watched := s.watched
	s.watched, s.dead = false, true
	s.mu.Unlock()
	_ = s.Close() // it may be closed
	if watched {
		s.Leave() // the Watch was a user
	}
}

// A body is the Socket's task as the scheduler sees it.
type body Socket

// Run implements sched.Body.
func (b *body) Run(cx *sched.Context) (done bool) {
	s := (*Socket)(b)
	s.mu.Lock()
	if f := s.first; f != nil {
		s.first = nil
		s.mu.Unlock()
		f()
		s.mu.Lock()
	}
	if s.gone {
		s.mu.Unlock()
		s.conclude(cx)
		return true
	}
	defer s.mu.Unlock()
	now := s.group.RT.Now()
	for d := range s.sides {
		s.checkTimer(Direction(d), now)
	}
	if s.want && !s.watched {
		if err := s.watch(engine.Of(cx)); err != nil {
			for d := range s.sides {
				s.sides[d].Fail(err, cx)
			}
		}
	}
	s.want = false
	return false
}
