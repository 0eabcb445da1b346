package conn

import (
	"os"

	"github.com/suiro-go/suiro/internal/waiter"
)

// A socketEvents is a Socket as its connection sees it: goroutines that hold a Socket do not
// see these methods, which are a worker's.
type socketEvents Socket

var (
	_ consumer = (*socketEvents)(nil)
)

// Handler is what Group.Dial is given, or a Dialer of package server, for a Socket that
// NewSocket has made: one connection's handler, for one call.
func (s *Socket) Handler() Handler { return (*socketEvents)(s) }

// socketOf is the Socket whose handler h is; false: it is another handler.
func socketOf(h Handler) (*Socket, bool) {
	e, ok := h.(*socketEvents)
	return (*Socket)(e), ok
}

// OnOpen implements Handler: from now on the socket can be read and written.
func (e *socketEvents) OnOpen(c *Conn) error {
	s := (*Socket)(e)
	c.group.watchSockets()
	s.mu.Lock()
	closed, mute, deaf := s.closed, s.mute, s.deaf
	s.c = c
	next := s.nextWriter()
	s.mu.Unlock()
	if s.opened != nil {
		close(s.opened)
	}
	if next != nil {
		next.Wake()
	}
	switch { // what was said before it was open
	case closed:
		c.Abort()
	case mute:
		_ = c.CloseWrite()
	}
	if deaf {
		_ = c.CloseRead()
	}
	return nil
}

// OnData implements Handler. The goroutine that has waited for longest is given what has
// come, straight from the reactor's memory. What nobody waits for is kept.
func (e *socketEvents) OnData(c *Conn) error {
	s := (*Socket)(e)
	var u waiter.Wakeup
	s.mu.Lock()
	if s.returned {
		s.mu.Unlock()
		return c.PauseRead() // until takeBack, which is on its way
	}
	p, _ := c.Next(-1)
	if s.closed || s.deaf {
		s.mu.Unlock()
		return nil
	}
	for w := s.readers.First(); s.in.Bytes == 0 && len(p) > 0 && w != nil && w.P != nil; w = s.readers.First() {
		s.readers.Remove(w)
		u.Add(w)
		w.N = copy(w.P, p)
		p = p[w.N:]
	}
	if s.in.Append(p); s.readers.Len() > 0 { // WriteTo is among them, or has been woken and not come yet
		s.serve(&u)
	}
	pause := !s.held && s.in.Bytes >= s.window()
	if pause {
		s.held = true
	}
	s.account() // the end of the run passes on
	s.mu.Unlock()
	if pause { // a resume is told after this, and carried out by a later run
		_ = c.PauseRead()
	}
	u.Wake()
	return nil
}

// OnEOF implements Handler: what was received before it is read first.
func (e *socketEvents) OnEOF(*Conn) error {
	s := (*Socket)(e)
	var u waiter.Wakeup
	s.mu.Lock()
	s.eof = true
	s.serve(&u)
	notify := s.takeEnded()
	s.mu.Unlock()
	u.Wake()
	notify()
	return nil
}

// OnWritable implements Handler: who waits for room hears of it otherwise.
func (e *socketEvents) OnWritable(*Conn) error { return nil }

// OnDeadline implements Handler: a Socket's deadlines are not its connection's.
func (e *socketEvents) OnDeadline(*Conn) error { return os.ErrDeadlineExceeded }

// OnDrain implements Handler: it does nothing with a connection that was accepted, unless
// that is lent, and closes one that was dialled.
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
	returned := s.returned
	s.mu.Unlock()
	s.end(err)
	if returned { // and takeBack has not run
		c.install(s.lender)
	}
	if s.lender != nil {
		s.lender.OnClose(c, err)
	}
}

// keeps implements consumer.
func (*socketEvents) keeps() bool { return true }

// appetite implements consumer.
func (e *socketEvents) appetite() int {
	s := (*Socket)(e)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.window() - s.in.Bytes
}
