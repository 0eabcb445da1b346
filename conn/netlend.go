package conn

import (
	"crypto/tls"

	"github.com/suiro-go/suiro/internal/core"
	"github.com/suiro-go/suiro/internal/duplex"
)

// Lend makes the connection a Socket, until Socket.Return or for good: goroutines have it, and
// unread bytes are the Socket's. Meanwhile the present handler gets only OnDrain and OnClose, where
// Lent reports that goroutines have the connection. Lend is for that handler's methods and
// Handle.Do. It returns nil if the connection is closed or closing, is spliced, is a Stream's, or
// speaks TLS. LendTLS is for TLS.
//
// The Socket keeps up to 64 KiB of unread bytes, 16 KiB before the first read, and a buffer of the
// reactor more. Then the peer is held back. Settings of the handler stay: it takes back a deadline
// of the Conn before.
func (c *Conn) Lend() *Socket {
	k := &c.core
	if k.Filter() != nil {
		return nil
	}
	s := lend(k, false)
	if s != nil {
		p, _ := k.Next(-1)
		s.keep(p)
		k.SendBefore()
	}
	return s
}

// LendStream is Lend for a task, which binds the Stream. TLS is no obstacle.
func (c *Conn) LendStream() *Stream {
	k := &c.core
	if k.Filter().Shaking() || k.Filter().Lent() {
		return nil
	}
	s := lend(k, true)
	if s == nil {
		return nil
	}
	p, _ := k.Next(-1)
	s.keep(p)
	k.SendBefore()
	return s.Bind(nil)
}

// LendTLS is Lend for a connection that speaks TLS. Goroutines get the *tls.Conn that has encrypted
// it so far, with the handshake complete. It runs over a Socket, whose deadlines are its own. That
// Socket is good for Return, and for SetLinger(0) and Close, which reset the connection, and for
// nothing else. Unread bytes must have been taken before. LendTLS returns nil, too, if the
// connection does not speak TLS.
//
// Return may be called when a Read of the *tls.Conn has ended with an error that matches
// os.ErrDeadlineExceeded. From then on the *tls.Conn must not be used any more. Meanwhile nothing
// else may be written: bytes of Handle.Send, too, are dropped. When the connection ends, only Close
// of the *tls.Conn sends close-notify.
func (c *Conn) LendTLS() (*tls.Conn, *Socket) {
	k := &c.core
	f := k.Filter()
	if !f.Decrypts() || len(k.In.Unread) > 0 || k.Out.Files() > 0 {
		return nil, nil
	}
	s := lend(k, false)
	if s == nil {
		return nil, nil
	}
	f.Encrypt(k, k.Is(core.WriteClosed) && !f.Session.Said())
	over, rest := f.Session.Lend(s)
	s.keep(rest)
	k.SendBefore()
	return over, s
}

func lend(c *core.Conn, streams bool) *Socket {
	if !c.Is(core.Opened) || c.Is(core.Closing|core.Broken) || c.Spliced() != nil || c.OfStream() {
		return nil
	}
	if _, lent := socketOf(c.Handler); lent {
		return nil
	}
	s := &Socket{c: c, lender: handlerOf(c), streams: streams}
	s.duplex.Take((*socketLine)(s), s.window(c.Group), duplex.State{ReadClosed: c.Reading.Is(core.ReadClosed), WriteClosed: c.Is(core.WriteClosed), EOF: c.Reading.Is(core.EndSeen)})
	c.Install(s.Handler())
	c.Group.WatchEnd()
	return s
}

// keep puts received bytes into the queue of a Socket that nobody else knows yet.
func (s *Socket) keep(p []byte) {
	if s.duplex.Push(p) {
		s.c.Reading.Set(core.UserPaused)
	}
}

// Lent reports whether the connection is a Socket at present.
func (c *Conn) Lent() bool {
	_, lent := socketOf(c.core.Handler)
	return lent
}

// Return gives a lent connection back to the handler that lent it. It reports false and changes
// nothing if something has arrived and was not read, the end included, or if a goroutine reads or
// writes. Of a LendStream it does so also if a call has failed, since a late answer may follow.
// If it reports true, the Socket is as if it were closed. Then f is called on a worker,
// before any method of the handler, and its error counts as a method's. After that the handler gets
// the data that arrived since, in order. If the connection ends first, f is not called. The
// handler's OnClose is called in any case.
//
// No byte is lost or changes places. The decision is taken under the lock of the Socket, under
// which received bytes enter its queue. Bytes that arrived before the decision would be there.
// Later bytes are left unread in the connection itself, since OnData sees the decision under the
// same lock. A worker offers them to the handler after takeBack, which is on its way before the
// lock is released. The peer's end goes the same way: eof shows it before, or takeBack shows it
// again.
func (s *Socket) Return(f func(*Conn) error) bool {
	// else it is over, and OnClose about to say so
	return s.lender != nil && !(s.streams && s.failed.Load()) && s.duplex.Surrender(func() bool {
		return s.c.Tell(core.Command{Kind: core.CmdDo, What: func(c *core.Conn) { s.takeBack(c, f) }}) == nil
	})
}

// takeBack is the worker's part of Return.
func (s *Socket) takeBack(c *core.Conn, f func(*Conn) error) {
	s.leave(c)
	eof := s.duplex.State().EOF // Return has released the lock by then
	if c.Is(core.Closing | core.Broken | core.SendFailed) {
		c.Replace(s.lender)
		return
	}
	if eof {
		c.Reading.Clear(core.EndSeen) // it was shown to the Socket alone
	}
	_ = c.ResumeRead()
	c.Filter().TakeBack(c)
	_ = c.SetHandler(s.lender)
	c.Check(f(users(c)))
	c.Filter().DecryptPending(c) // f may have lent it again
}
