package accept

import (
	"context"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/suiro-go/suiro/internal/admission"
	"github.com/suiro-go/suiro/internal/alarm"
	"github.com/suiro-go/suiro/internal/background"
	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/handover"
	"github.com/suiro-go/suiro/internal/membudget"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// An Owner makes connections of accepted descriptors.
type Owner interface {
	// Begin takes an accepted descriptor, for which there is room. d is the driver of the worker
	// that calls. Begin may be called by a delivery: it must not run a handler.
	Begin(d *engine.Driver, a Accepted)
	// Shed gives memory back, since waiting for it would not help: see membudget.Budget.WakeNext.
	Shed()
}

// An Accepted is a descriptor that was accepted, and its peer.
type Accepted struct {
	FD   int
	Peer netip.AddrPort // IPv6Unspecified if it is not known; of a Unix socket the zero value
	Path string         // of a Unix socket, if it has one
}

// Of is an accepted descriptor. told is the peer as the reactor knows it, if it does.
func Of(fd int, told netip.AddrPort) Accepted {
	peer, path, local := sock.Accepted(fd, told)
	if !local && !peer.IsValid() {
		peer = netip.AddrPortFrom(netip.IPv6Unspecified(), peer.Port())
	}
	return Accepted{FD: fd, Peer: peer, Path: path}
}

// A Group is what listening sockets have in common. The fields are fixed before the first call.
type Group struct {
	Engine *engine.Group
	Limits *admission.Limits
	Memory *membudget.Budget // nil: there is no bound

	late late
}

// A Socket accepts connections on a listening descriptor. Init comes before all other calls. It
// must not be copied.
type Socket struct {
	// Fixed before Init.
	Owner   Owner
	Addr    net.Addr // for the log
	Worker  int      // where it accepts, from 0; negative: where the group chooses
	Backlog int      // how many may wait between Arrived and Taken, about; 0: nothing calls these

	Origin  *engine.Origin // of the connections; Init sets it
	group   *Group
	end     engine.Endpoint // of the reactors' tokens
	task    sched.Task
	waiting handover.Limit // of those that arrived; stopped for want of room too
	on      atomic.Int32   // the worker that it is on

	// The task's alone.
	home      *engine.Driver   // where its last Accept went; nil: there was none
	memory    membudget.Waiter // in the queue for memory
	place     admission.Place  // among those that wait for the end of a connection
	accepting bool             // an Accept is in flight
	stopping  bool             // and a Cancel for it
	closing   time.Duration    // the tick in which the descriptor was closed; 0: it is open
	retry     alarm.Alarm
	pause     time.Duration // how long the last back-off was
	until     time.Duration // and when it ends
	went      atomic.Bool   // something was accepted since

	mu     sync.Mutex
	spare  []Accepted    // accepted without room for them
	ended  bool          // the Accept has ended
	errno  syscall.Errno // and why
	stop   bool          // Close was called
	gone   bool          // the task closes the descriptor, or has
	inert  bool          // it is that of another socket by now, see awaitClose
	shared bool          // others have the socket, too
	kept   int           // if inert: another descriptor of it, for takeLeft; 0 or less: there is none
	closed chan struct{} // closed when the descriptor is
}

var (
	_ engine.Target = (*Socket)(nil)
	_ sched.Body    = (*Socket)(nil)
)

// Init makes a Socket of a listening descriptor, which it closes at its end.
func (s *Socket) Init(g *Group, fd int) {
	s.group, s.waiting.Most, s.closed = g, s.Backlog, bubble.Chan[struct{}](0)
	s.end.FD, s.end.Target = fd, s
	s.Origin = g.Engine.Origin(engine.Accepted, s.Addr)
	s.task.Init(g.Engine.RT, s)
}

// Start begins to accept. Once the end of the group has begun, the Socket closes itself instead, in
// the background, and Start returns net.ErrClosed. CloseAll closes only the sockets that are in the
// table when it is called, and may have missed this one.
func (s *Socket) Start() error {
	s.group.Engine.Table.Add(&s.end)
	if s.group.Engine.Aborting() {
		background.Go(func() { _ = s.Close() }) // the caller may be a handler, which must not wait
		return net.ErrClosed
	}
	if s.Worker < 0 {
		at := s.group.Engine.NextWorker()
		s.on.Store(int32(at))
		s.task.WakeOn(at)
	} else {
		s.on.Store(int32(s.Worker))
		s.task.Pin(s.Worker)
		s.task.Wake()
	}
	return nil
}

// Deliver implements engine.Target: it takes an accepted descriptor, or the end of the Accept.
func (s *Socket) Deliver(d *engine.Driver, e *reactor.Completion) {
	full := false
	if e.Res >= 0 {
		if !s.went.Load() {
			s.went.Store(true)
		}
		full = !s.take(d, Of(e.Res, e.Peer)) || s.group.Memory != nil && s.group.Memory.UnderPressure() || s.waiting.Reached()
		if e.More && !full {
			return
		}
	}
	if full {
		s.waiting.Stop() // before ended: Run is not to begin another Accept
	}
	if !e.More {
		s.mu.Lock()
		s.ended, s.errno = true, e.Errno()
		s.mu.Unlock()
	}
	d.Cx.Wake(s.task.Waker())
}

// File is a copy of the descriptor with that name, or net.ErrClosed after Close.
func (s *Socket) File(name string) (*os.File, error) {
	s.mu.Lock() // the task closes the descriptor only after it has seen stop
	defer s.mu.Unlock()
	if s.stop {
		return nil, net.ErrClosed
	}
	s.shared = true
	return sock.File(s.end.FD, name)
}

// Wait waits after Close until nothing more is accepted; until ctx ends, and then returns its
// error; or until the workers stop, with sched.ErrClosed.
func (s *Socket) Wait(ctx context.Context) error {
	select {
	case <-s.closed: // even after ctx has ended
		return nil
	default:
	}
	ctx, release := bubble.Context(ctx)
	defer release()
	select {
	case <-s.closed:
		return nil
	case <-s.group.Engine.RT.Done():
		return sched.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A State is a snapshot of a Socket, for reports and tests. It may be out of date when it is read.
type State struct {
	FD     int
	Token  reactor.Token
	Spare  int  // descriptors that wait for room
	Full   bool // it has stopped for want of room
	InLine bool // it waits for memory
	Ended  bool // an Accept has ended that no run has dealt with
	Closed bool // Close was called
}

// State is a snapshot of the Socket.
func (s *Socket) State() State {
	inLine := s.group.Memory != nil && s.group.Memory.Queued(&s.memory)
	full := s.waiting.Stopped()
	s.mu.Lock()
	defer s.mu.Unlock()
	return State{s.end.FD, s.end.Token, len(s.spare), full, inLine, s.ended, s.stop}
}
