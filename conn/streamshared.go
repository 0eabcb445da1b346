package conn

import (
	"sync/atomic"
	"time"

	"github.com/suiro-go/suiro/internal/core"
	"github.com/suiro-go/suiro/reactor"
)

// A handler's Stream that another task uses is shared. Then its connection has a Socket, through
// which all tasks read and write, those of the handler's functions too. The functions still run in
// the connection's task and end with it.
//
// The order of bytes is kept: the connection's task makes the change between two turns. It sends
// the bytes that the functions have written before it opens the Socket, and gives the Socket the
// unread ones. Other tasks' reads and writes wait until the Socket is open.

// share is the Socket of a handler's Stream. Any goroutine may call it.
func (s *Stream) share() *Socket {
	if k := s.shared.Load(); k != nil {
		return k
	}
	k := NewSocket()
	k.streams, k.stream = true, s
	if !s.shared.CompareAndSwap(nil, k) {
		return s.shared.Load()
	}
	s.c.Group.WatchEnd()
	if s.c.Tell(core.Command{Kind: core.CmdInner, What: func(c *core.Conn) { s.open(c, k) }}) != nil {
		k.returned.Store(true)
		k.end(errReturned)
	}
	select {
	case <-s.c.Group.Runtime.Done(): // if it closes later, WatchEnd finds the Socket
		k.end(core.ErrGone)
	default:
	}
	return k
}

// open gives the connection to its Socket. It is the task's.
func (s *Stream) open(c *core.Conn, k *Socket) {
	if s.vacant || s.closed.Load() || c.Is(core.Broken) {
		s.obeySocket(k)
		k.returned.Store(s.vacant)
		k.end(errReturned)
		return
	}
	if s.holds {
		s.holds = false
		_ = c.ResumeRead() // it is not, if the connection ends
	}
	s.passDeadlines(k)
	c.SendBefore()
	if c.Reading.Is(core.ReadClosed) {
		_ = k.duplex.CloseRead()
	}
	if c.Is(core.WriteClosed) {
		_ = k.duplex.CloseWrite()
	}
	e := &sharedEvents{(*streamEvents)(s), (*socketEvents)(k)}
	c.Install(e)
	s.isShared = true
	k.duplex.SetAsked(s.asked)
	switch was := k.begin(c); { // calls of other tasks before it was open
	case was.Closed && was.Reset:
		c.Abort()
	case was.Closed:
		_ = c.Close() // it may be closing
	default:
		if was.WriteClosed {
			_ = c.CloseWrite() // it may have been closed before
		}
		if was.ReadClosed {
			_ = c.CloseRead() // it may have been closed before
		}
	}
	if len(c.In.Unread) > 0 {
		_ = e.OnData(users(c))
	}
	if c.Reading.Is(core.EndSeen) {
		_ = e.OnEOF(users(c))
	}
	if s.isDraining() {
		k.duplex.Drain()
	}
}

// obeySocket aborts the connection if another task has, by a Socket that is not open.
func (s *Stream) obeySocket(k *Socket) {
	if was := k.duplex.State(); was.Closed && was.Reset {
		s.c.Abort()
	}
}

// passDeadlines gives the Socket the deadlines. One that is set meanwhile may reach the Socket
// before the one that it replaces. So each is passed on until it has not changed.
func (s *Stream) passDeadlines(k *Socket) {
	if s.virtual() {
		return // see ring
	}
	passDeadline(s, &s.readBy, k.SetReadDeadline)
	passDeadline(s, &s.writeBy, k.SetWriteDeadline)
}

func passDeadline(s *Stream, by *atomic.Int64, set func(time.Time) error) {
	for passed := int64(0); by.Load() != passed; {
		passed = by.Load()
		at := time.Time{}
		if passed != 0 {
			at = s.c.Group.Runtime.Time(time.Duration(passed))
		}
		_ = set(at) // fails if another task has closed it
	}
}

// virtual reports whether the runtime's clock is. The deadlines of a Socket are real time. So its
// Stream then keeps its own, by the runtime's clock, and makes those of the Socket pass.
func (s *Stream) virtual() bool { return s.c.Group.Engine.Virtual }

// ring makes the Socket's deadlines pass when those of the Stream have, on a virtual clock.
func (s *Stream) ring() {
	k := s.shared.Load()
	ring(s, &s.readBy, k.SetReadDeadline)
	ring(s, &s.writeBy, k.SetWriteDeadline)
}

// ring looks again: one that is set meanwhile reaches the Socket before or after that.
func ring(s *Stream, by *atomic.Int64, set func(time.Time) error) {
	for rang := false; s.late(by) != rang; {
		rang = !rang
		_ = set(passedIf(rang)) // fails if another task has closed it
	}
}

// late reports whether a deadline has passed.
func (s *Stream) late(by *atomic.Int64) bool {
	at := by.Load()
	return at != 0 && s.overdue(at)
}

// passedIf is a deadline that has passed, or none.
func passedIf(passed bool) time.Time {
	if passed {
		return time.Unix(1, 0)
	}
	return time.Time{}
}

// sharedEvents is the handler of a shared connection: its bytes are the Socket's, its turns the
// Stream's.
type sharedEvents struct {
	*streamEvents
	socket *socketEvents
}

var _ core.Consumer = (*sharedEvents)(nil)

// OnData implements Handler.
func (e *sharedEvents) OnData(c *Conn) error { return e.socket.OnData(c) }

// OnEOF implements Handler.
func (e *sharedEvents) OnEOF(c *Conn) error { return e.socket.OnEOF(c) }

// OnClose implements Handler.
func (e *sharedEvents) OnClose(c *Conn, err error) {
	e.socket.OnClose(c, err)
	e.streamEvents.OnClose(c, err)
}

func (e *sharedEvents) Came(c *core.Conn, b reactor.Buffer) { e.socket.Came(c, b) }
func (e *sharedEvents) ReadCapacity() int                   { return e.socket.ReadCapacity() }
func (e *sharedEvents) SendFailed(err error)                { e.socket.SendFailed(err) }
func (e *sharedEvents) Readers() core.Readers               { return e.socket }
