package conn

import (
	"crypto/tls"

	"github.com/suiro-go/suiro/internal/duplex"
)

// Lend makes the connection a Socket, until Socket.Return or for good: goroutines have
// it, and what is unread is the Socket's. Meanwhile the handler that the connection has
// now gets no event but OnDrain and OnClose, where Lent tells it that this is not its
// own affair alone. It is for that handler's methods and Handle.Do, and returns nil if the
// connection is closed or closing, is spliced, is a Stream's, or speaks TLS, for which
// LendTLS is.
//
// The Socket keeps up to 64 KiB that arrive and are not read, 16 KiB before the first read, and a
// buffer of the reactor more; then the peer is held back. What the handler has set is not touched:
// a deadline of Conn's is to be taken back first.
func (c *Conn) Lend() *Socket {
	if c.filter() != nil {
		return nil
	}
	s := c.lend()
	if s != nil {
		p, _ := c.Next(-1)
		s.keep(p)
		c.sendBefore()
	}
	return s
}

// LendTLS is Lend for a connection that speaks TLS: what goroutines have is the
// *tls.Conn that has encrypted it so far, hands shaken, over a Socket, whose deadlines are
// its own, and which is good for Return, and for SetLinger(0) and Close, which reset the
// connection, and for nothing else. What is unread must have
// been taken before. It returns nil, too, if the connection does not speak TLS.
//
// Return may be called when a Read of the *tls.Conn has ended with an error that matches
// os.ErrDeadlineExceeded, and from then on the *tls.Conn must not be used any more.
// Meanwhile nothing else may be written, not by Handle.Send either: it is dropped. When the
// connection ends, close-notify is sent by Close of the *tls.Conn alone.
func (c *Conn) LendTLS() (*tls.Conn, *Socket) {
	f := c.filter()
	if !f.decrypts() || len(c.in.Unread) > 0 || c.out.Files() > 0 {
		return nil, nil
	}
	s := c.lend()
	if s == nil {
		return nil, nil
	}
	f.encrypt(c, c.is(mute) && !f.tls.Said())
	over, rest := f.tls.Lend(s)
	s.keep(rest)
	c.sendBefore()
	return over, s
}

func (c *Conn) lend() *Socket {
	if !c.is(opened) || c.is(closing|broken) || c.spliced() != nil || c.ofStream() {
		return nil
	}
	if _, lent := socketOf(c.handler); lent {
		return nil
	}
	s := &Socket{c: c, lender: c.handler}
	s.duplex.Take((*socketLine)(s), s.window(c.group), duplex.State{Deaf: c.reading.is(deaf), Mute: c.is(mute), EOF: c.reading.is(endSeen)}, nil)
	c.install(s.Handler())
	c.group.watchSockets()
	return s
}

// sendBefore has what is queued be known to put, which would overtake it.
func (c *Conn) sendBefore() {
	if len(c.out.Queued) > 0 || c.out.Files() > 0 {
		c.send(false)
	}
}

// keep puts what has arrived into the queue of a Socket that nobody else knows yet.
func (s *Socket) keep(p []byte) {
	if s.duplex.Push(p) {
		s.c.reading.set(held)
	}
}

// Lent reports whether the connection is a Socket at present.
func (c *Conn) Lent() bool {
	_, lent := socketOf(c.handler)
	return lent
}

// Return gives a connection that was lent back to the handler that lent it, unless
// something has arrived that was not read, its end included, or somebody is reading or
// writing: then it reports false and changes nothing. If it reports true the Socket is
// as if it were closed; f, on a worker, is the first that the handler's side sees of
// the connection, its error as that of a handler's method; and then the handler is told
// of what has arrived since, in order. If the connection ends first, f is not called:
// the handler's OnClose is, in any case.
//
// No byte is lost or changes places. The decision is taken under the lock of the
// Socket, under which all that arrives is put into its queue: what came before it would
// be there. What comes after it is left unread in the connection itself, since OnData
// sees that under the same lock, and a worker offers that to the handler after
// takeBack, which is on its way before the lock is released. The end goes the same way:
// it is seen in eof before, or it is shown again by takeBack.
func (s *Socket) Return(f func(*Conn) error) bool {
	return s.lender != nil && s.duplex.Surrender(func() bool { // else it is over, and OnClose about to say so
		return s.c.tell(command{kind: cmdDo, do: func(c *Conn) { s.takeBack(c, f) }}) == nil
	})
}

// takeBack is the worker's part of Return.
func (s *Socket) takeBack(c *Conn, f func(*Conn) error) {
	eof := s.duplex.State().EOF // Return has released the lock by then
	if c.is(closing | broken) {
		c.install(s.lender)
		return
	}
	if eof {
		c.reading.clear(endSeen) // it was shown to the Socket alone
	}
	_ = c.ResumeRead()
	c.filter().takeBack(c)
	_ = c.SetHandler(s.lender)
	c.check(f(c))
	c.filter().goOn(c) // f may have lent it again
}
