package conn

import (
	"context"
	"net"
	"sync"
	"sync/atomic"

	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/internal/core"
	"github.com/suiro-go/suiro/internal/ctxcheck"
	"github.com/suiro-go/suiro/internal/duplex"
)

// A Socket is a connection for ordinary goroutines: a net.Conn on a descriptor that the group's
// workers serve. It behaves as a *net.TCPConn does: Read and Write block, any method may be called
// from any goroutine at any time, and errors are *net.OpError.
//
// It differs in this. Write returns when the kernel, or a queue of up to 64 KiB before it, has
// taken everything. Close sends that in the background, as Conn.Close does, for as long as the peer
// takes some of it within Config.LingerTimeout. It resets a peer that sends more than 2 MiB
// meanwhile. A Socket that is forgotten without Close stays open.
//
// Unread bytes are kept, up to Config.HighWater and a little more; then the peer is held back. An
// idle Socket holds no buffer, and no goroutine but those blocked in its methods.
//
// Group.Drain closes it if it was dialed. It does nothing to one that was accepted, since only its
// owner knows when it is done with it. Group.Abort resets it. Setting deadlines then fails with
// net.ErrClosed. So do all calls that wait when the group's workers stop. The zero value cannot be
// used: see NewSocket.
type Socket struct {
	opened chan struct{} // closed with OnOpen, or with OnClose instead; nil: it was accepted
	lender Handler       // the connection's handler after Return; nil: none
	// Streams use it: a drain does not close it, and it may be the handler within TLS. Fixed before
	// others know the Socket.
	streams  bool
	stream   *Stream       // that of the handler, whose function ends the connection; nil: none. Fixed
	returned atomic.Bool   // that function has returned, and so ended the connection
	failed   atomic.Bool   // a call has failed, see Return
	duplex   duplex.Duplex // what goroutines have of it

	mu sync.Mutex // inside the duplex's lock, around that of c
	// nil: not open yet. Goroutines use the data that its mutex guards, and fixed fields
	c     *core.Conn
	local net.Addr // nil: not asked for yet
	gone  bool     // its descriptor is not to be used any more
}

var _ net.Conn = (*Socket)(nil)

// NewSocket is a Socket for one connection that is to be dialed. Give its Handler to Group.Dial;
// then WaitOpen returns the result. Reads and writes wait for that too.
func NewSocket() *Socket {
	s := &Socket{opened: bubble.Chan[struct{}](0)}
	s.duplex.Unopened()
	return s
}

// WaitOpen waits until the connection is established, and returns nil. If it is not going to be,
// WaitOpen returns the reason. That matches net.ErrClosed if the group ends. If ctx ends before, it
// returns the error of ctx. Then the attempt goes on, until Close or Handle.Abort ends it. Any
// goroutine may call it. On a worker it does not wait, but returns sched.ErrBlocksWorker.
func (s *Socket) WaitOpen(ctx context.Context) error {
	st := s.duplex.State() // those it wakes may ask before opened is closed
	if s.opened != nil && !st.Opened && !st.Gone {
		if err := s.awaitOpened(ctx); err != nil {
			return err
		}
		st = s.duplex.State()
	}
	if !st.Opened {
		return st.Failed
	}
	return nil
}

func (s *Socket) awaitOpened(ctx context.Context) error {
	select {
	case <-s.opened:
		return nil
	default:
	}
	if err := ctxcheck.Blocks(ctx); err != nil {
		return err
	}
	ctx, release := bubble.Context(ctx)
	defer release()
	select {
	case <-s.opened:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// handle is the connection's handle; the zero value: it is not open yet.
func (s *Socket) handle() core.Handle {
	if c := s.conn(); c != nil {
		return c.Handle()
	}
	return core.Handle{}
}

// conn is the connection; nil: it is not open yet.
func (s *Socket) conn() *core.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.c
}

// lentWindow is how many unread bytes a lent Socket keeps. It keeps no more than unwantedWindow
// before a goroutine has read that much. So all of a body that no handler reads stays in the
// kernel, except one buffer of the reactor.
const (
	lentWindow     = 64 << 10
	unwantedWindow = 16 << 10
)

// window is how much is kept before the peer is held back.
func (s *Socket) window(g *core.Group) duplex.Window {
	w := duplex.Window{First: g.Config.HighWater, Most: g.Config.HighWater, Low: g.Config.LowWater, Bound: g.Config.MaxRead}
	if s.lender != nil {
		w.First, w.Most = min(w.Most, unwantedWindow), min(w.Most, lentWindow)
	}
	return w
}

// A socketLine is a Socket's connection, as its goroutines need it.
type socketLine Socket

var _ duplex.Line = (*socketLine)(nil)

func (l *socketLine) sender() core.Sender {
	return core.Sender{Socket: (*Socket)(l), Duplex: &l.duplex, Streams: l.streams}
}

// Write implements duplex.Line.
func (l *socketLine) Write(p []byte) (int, error) { return (*core.Outlet)(l.c).Write(p, l.sender()) }

// Queue implements duplex.Line.
func (l *socketLine) Queue(p []byte) error { return (*core.Outlet)(l.c).QueueAll(p) }

// Room implements duplex.Line.
func (l *socketLine) Room() bool { return (*core.Outlet)(l.c).HasRoom(&l.duplex) }

// Awaited implements duplex.Line: with MaxMemory the connection may have been waiting for memory
// that is not needed now.
func (l *socketLine) Awaited() {
	if l.c.Group.Bounded() {
		l.c.Task.Wake()
	}
}

// Watch implements duplex.Line: the end of a run puts a Hangup in flight.
func (l *socketLine) Watch() { l.do(func(*core.Conn) {}) }

// Resume implements duplex.Line.
func (l *socketLine) Resume() { l.do(func(c *core.Conn) { _ = c.ResumeRead() }) }

// CloseRead implements duplex.Line.
func (l *socketLine) CloseRead() { l.do(func(c *core.Conn) { _ = c.CloseRead() }) }

// CloseWrite implements duplex.Line.
func (l *socketLine) CloseWrite() { l.do(func(c *core.Conn) { _ = c.CloseWrite() }) }

// do makes the task call f, unless the connection is over.
func (l *socketLine) do(f func(*core.Conn)) { _ = l.c.Tell(core.Command{Kind: core.CmdDo, What: f}) }

// Close implements duplex.Line.
func (l *socketLine) Close(reset bool) {
	kind := core.CmdClose
	if reset {
		kind = core.CmdAbort
	}
	_ = l.c.Tell(core.Command{Kind: kind}) // it may be over
}

// Keep implements duplex.Line.
func (l *socketLine) Keep(bytes int) bool {
	c := l.c
	if !c.Group.Bounded() {
		return false
	}
	return c.KeepForGoroutines(bytes)
}

// Freed implements duplex.Line.
func (l *socketLine) Freed() { l.c.Group.MemoryFreed() }
