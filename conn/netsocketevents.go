package conn

import (
	"os"
)

// A socketEvents is a Socket as its connection sees it: goroutines that hold a Socket do not
// see these methods, which are a worker's.
type socketEvents Socket

var _ consumer = (*socketEvents)(nil)

// Handler is what Group.Dial is given, or a Dialer of package server, for a Socket that
// NewSocket has made: one connection's handler, for one call.
func (s *Socket) Handler() Handler { return (*socketEvents)(s) }

// socketOf is the Socket with the handler h; false: h is another handler.
func socketOf(h Handler) (*Socket, bool) {
	e, ok := h.(*socketEvents)
	return (*Socket)(e), ok
}

// OnOpen implements Handler: from now on the socket can be read and written.
func (e *socketEvents) OnOpen(c *Conn) error {
	s := (*Socket)(e)
	c.group.watchSockets()
	s.mu.Lock()
	s.c = c
	s.mu.Unlock()
	was := s.duplex.Open((*socketLine)(s), s.window(c.group))
	if s.opened != nil {
		close(s.opened)
	}
	switch { // calls before it was open
	case was.Closed:
		c.Abort()
	case was.Mute:
		_ = c.CloseWrite()
	}
	if was.Deaf {
		_ = c.CloseRead()
	}
	return nil
}

// OnData implements Handler: goroutines read straight from the reactor's memory. While a Return
// is under way, what arrives stays in the connection, for takeBack.
func (e *socketEvents) OnData(c *Conn) error {
	taken, pause := e.duplex.Arrived(c.in.Unread)
	if taken {
		_, _ = c.Discard(-1)
	}
	if pause { // a resume is asked for after this, and carried out by a later run
		_ = c.PauseRead()
	}
	return nil
}

// OnEOF implements Handler: bytes received before it are read first.
func (e *socketEvents) OnEOF(*Conn) error {
	e.duplex.Finished()
	return nil
}

// OnWritable implements Handler: a goroutine that waits for room learns of it otherwise.
func (e *socketEvents) OnWritable(*Conn) error { return nil }

// OnDeadline implements Handler: a Socket's deadlines are not its connection's.
func (e *socketEvents) OnDeadline(*Conn) error { return os.ErrDeadlineExceeded }

// OnDrain implements Handler. It does nothing to a connection that was accepted, unless that is
// lent, and closes one that was dialed.
func (e *socketEvents) OnDrain(c *Conn) {
	s := (*Socket)(e)
	switch {
	case s.lender != nil:
		s.lender.OnDrain(c)
	case c.is(outbound):
		_ = s.Close() // its owner may have closed it
	}
}

// OnClose implements Handler: nothing more comes, or goes.
func (e *socketEvents) OnClose(c *Conn, err error) {
	s := (*Socket)(e)
	s.mu.Lock()
	if s.local == nil {
		s.local = c.LocalAddr()
	}
	s.mu.Unlock()
	s.end(err)
	if s.lender == nil {
		return
	}
	if s.duplex.Surrendered() { // and takeBack has not run
		c.install(s.lender)
	}
	s.lender.OnClose(c, err)
}

func (*socketEvents) consumes() {}

// keeps implements consumer. A function of NotifyEnd must learn of a reset at once.
func (e *socketEvents) keeps() bool { return !e.duplex.TellsEnd() }

// hung implements consumer.
func (e *socketEvents) hung() bool {
	e.duplex.TellEnd()
	return true
}

// appetite implements consumer.
func (e *socketEvents) appetite() int { return e.duplex.Appetite() }

// sips implements consumer.
func (*socketEvents) sips() bool { return true }

// books implements consumer.
func (e *socketEvents) books(unread int) bool {
	e.duplex.Books(unread)
	return true
}

// hungry implements consumer.
func (e *socketEvents) hungry() bool { return e.duplex.Hungry() }
