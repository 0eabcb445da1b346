package conn

import (
	"os"

	"github.com/suiro-go/suiro/internal/core"
	"github.com/suiro-go/suiro/internal/duplex"
	"github.com/suiro-go/suiro/reactor"
)

// A socketEvents is a Socket as its connection sees it: goroutines that hold a Socket do not
// see these methods, which are a worker's.
type socketEvents Socket

var (
	_ core.Consumer = (*socketEvents)(nil)
	_ core.Readers  = (*socketEvents)(nil)
)

// Handler is what Group.Dial is given, or a Dialer of package server, for a Socket that
// NewSocket has made: one connection's handler, for one call.
func (s *Socket) Handler() Handler { return (*socketEvents)(s) }

// socketOf is the Socket with the handler h; false: h is another handler, or that of a Stream.
func socketOf(h any) (*Socket, bool) {
	e, ok := h.(*socketEvents)
	return (*Socket)(e), ok
}

// OnOpen implements Handler: from now on the socket can be read and written.
func (e *socketEvents) OnOpen(u *Conn) error {
	c := &u.core
	s := (*Socket)(e)
	was := s.begin(c)
	switch { // calls before it was open
	case was.Closed:
		c.Abort()
	case was.WriteClosed:
		_ = c.CloseWrite()
	}
	if was.ReadClosed {
		_ = c.CloseRead()
	}
	return nil
}

// begin opens the Socket. It returns the earlier requests.
func (s *Socket) begin(c *core.Conn) duplex.State {
	c.Group.WatchEnd()
	s.mu.Lock()
	s.c = c
	s.mu.Unlock()
	was := s.duplex.Open((*socketLine)(s), s.window(c.Group))
	if s.opened != nil {
		close(s.opened)
	}
	return was
}

// OnData implements Handler: goroutines read straight from the reactor's memory. While a Return
// is under way, received bytes stay in the connection, for takeBack.
func (e *socketEvents) OnData(u *Conn) error {
	c := &u.core
	taken, pause := e.duplex.Arrived(c.Driver.Cx, c.In.Unread)
	if taken {
		_, _ = c.Discard(-1)
	}
	if pause { // a resume is asked for after this, and carried out by a later run
		_ = c.PauseRead()
	}
	return nil
}

// OnEOF implements Handler: bytes received before it are read first.
func (e *socketEvents) OnEOF(u *Conn) error {
	c := &u.core
	e.duplex.Finished(c.Driver.Cx)
	return nil
}

// OnWritable implements Handler: a goroutine that waits for room learns of it otherwise.
func (e *socketEvents) OnWritable(*Conn) error { return nil }

// UsersName implements core.StandIn.
func (*socketEvents) UsersName() string { return "conn.Socket" }

// Own implements core.Own: goroutines read and write, not the connection's task.
func (*socketEvents) Own() {}

// OnDeadline implements Handler: a Socket's deadlines are not its connection's.
func (e *socketEvents) OnDeadline(*Conn) error { return os.ErrDeadlineExceeded }

// OnDrain implements Handler. Streams learn of it by Draining alone. It does nothing else to a
// connection that was accepted, unless that is lent, and closes one that was dialed.
func (e *socketEvents) OnDrain(u *Conn) {
	c := &u.core
	s := (*Socket)(e)
	s.duplex.Drain()
	switch {
	case s.lender != nil:
		s.lender.OnDrain(u)
	case c.Is(core.Outbound) && !s.streams:
		_ = s.Close() // its owner may have closed it
	}
}

// OnClose implements Handler: nothing more comes, or goes.
func (e *socketEvents) OnClose(u *Conn, err error) {
	c := &u.core
	s := (*Socket)(e)
	s.leave(c)
	s.end(err)
	if s.lender == nil {
		return
	}
	if s.duplex.Surrendered() { // and takeBack has not run
		c.Replace(s.lender)
	}
	s.lender.OnClose(u, err)
}

// Came implements core.Consumer.
func (*socketEvents) Came(c *core.Conn, b reactor.Buffer) { new(core.Plain).Came(c, b) }

// ReadCapacity implements core.Consumer.
func (e *socketEvents) ReadCapacity() int { return e.duplex.ReadCapacity() }

// ReadsBeforeReset implements core.Consumer. A function of NotifyEnd must learn of a reset at once.
func (e *socketEvents) ReadsBeforeReset() bool { return !e.duplex.TellsEnd() }

// SendFailed implements core.Consumer.
func (e *socketEvents) SendFailed(err error) { e.duplex.SendFailed(err) }

// EndGathering implements core.Consumer.
func (e *socketEvents) EndGathering() { e.duplex.EndGathering() }

// Abandoned implements core.Consumer.
func (e *socketEvents) Abandoned(c *core.Conn, err error) {
	s := (*Socket)(e)
	if s.conn() != nil { // it was open: its descriptor is about to be closed
		s.leave(c)
	}
	s.end(err)
}

// Functions implements core.Consumer.
func (*socketEvents) Functions() core.Functions { return nil }

// Readers implements core.Consumer.
func (e *socketEvents) Readers() core.Readers { return e }

// Hungry implements core.Readers.
func (e *socketEvents) Hungry() bool { return e.duplex.Hungry() }

// HasUnread implements core.Readers.
func (e *socketEvents) HasUnread() bool { return e.duplex.Buffered() > 0 }

// CountUnread implements core.Readers.
func (e *socketEvents) CountUnread(inConnection int) { e.duplex.CountUnread(inConnection) }

// ReadsOn implements core.Readers: a task may read while another one sends a file.
func (e *socketEvents) ReadsOn() bool { return e.streams }

// Hung implements core.Readers.
func (e *socketEvents) Hung() { e.duplex.TellEnd() }
