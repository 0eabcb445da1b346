package conn

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/suiro-go/suiro/internal/core"
	"github.com/suiro-go/suiro/internal/duplex"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/sched"
)

// errReturned is for those that wait when the stream's function does not run any more.
var errReturned = fmt.Errorf("the handler's function has returned: %w", net.ErrClosed)

// errElsewhere is for calls from where they cannot wait. It does not match net.ErrClosed: a loop
// that takes that for an orderly end would hide the mistake.
var errElsewhere = fmt.Errorf("conn: the Stream is not bound to the function that uses it: a task calls Bind(cx) first, a goroutine uses Socket(): %w", sched.ErrMisuse)

// Read implements net.Conn. If a Write of another task was the first to fail by the peer's reset, a
// later Read may return io.EOF, as in package net.
func (s *Stream) Read(p []byte) (int, error) {
	for s.isHere() { // another task may share the connection during a wait
		n, ready, err := s.tryRead(p)
		if ready {
			return n, err
		}
		if s.outlives() {
			return 0, s.opError("read", errReturned)
		}
		s.running.co.BeforeSuspend().Suspend()
	}
	return s.readShared(p)
}

// tryRead is Read, unless that has to wait: then ready is false.
func (s *Stream) tryRead(p []byte) (n int, ready bool, err error) {
	c := s.c
	err = s.unreadable()
	switch {
	case err != nil:
		return 0, true, err
	case len(p) == 0:
		return 0, true, nil
	case len(c.In.Unread) > 0:
		n := copy(p, c.In.Unread)
		c.In.Unread = c.In.Unread[n:]
		s.asked = true
		return n, true, nil
	}
	err = s.exhausted()
	return 0, err != nil, err
}

// unreadable is why nothing can be read even if bytes have arrived, or nil.
func (s *Stream) unreadable() error {
	by := s.readBy.Load()
	if by == 0 && !s.closed.Load() && !s.c.Reading.Is(core.ReadClosed) { // most calls
		return nil
	}
	return s.readError(duplex.Unreadable(s.closed.Load(), by != 0 && s.overdue(by), s.c.Reading.Is(core.ReadClosed)))
}

// readError is opError of a Read, unless that ends in order.
func (s *Stream) readError(err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return s.opError("read", unwrapOp(err))
}

// exhausted is why nothing will arrive any more, or nil.
func (s *Stream) exhausted() error {
	c := s.c
	var failed error
	over := c.Is(core.Closing | core.Broken)
	eof := c.Reading.Is(core.Ended)
	if !over && !eof && !s.isDraining() { // most waits
		return nil
	}
	switch {
	case over:
		failed = c.Cause()
		eof = eof && (!c.Is(core.Closing) || c.Reading.Is(core.EndSeen)) // else it was closed by the Handle before
	case !eof && len(c.In.Unread) == 0 && s.idleAtTheEnd():
		eof = true
	}
	err := duplex.Exhausted(failed, eof, over)
	if err == io.EOF && c.Reading.Is(core.Ended) {
		err = c.Filter().EOF()
	}
	return s.readError(err)
}

// idleAtTheEnd reports whether the server shuts down and no request is in progress, as far
// as a stream can know.
func (s *Stream) idleAtTheEnd() bool {
	return s.stage.Load() == allArrived && !s.asked && !s.watches.Load()
}

// quitter ends the waits of the handler's functions in a Socket; nil: the Stream is another task's.
func (s *Stream) quitter() duplex.Quitter {
	if s.ofTask != nil {
		return nil
	}
	return (*idleStream)(s)
}

// An idleStream is a shared Stream as the Quitter of its handler's functions.
type idleStream Stream

// Quit implements duplex.Quitter: it is idleAtTheEnd.
func (i *idleStream) Quit() error {
	if i.stage.Load() != allArrived || i.watches.Load() {
		return nil
	}
	if d := &i.shared.Load().duplex; d.Buffered() > 0 || d.Asked() {
		return nil
	}
	return io.EOF
}

// ReadFull reads exactly len(p) bytes, as io.ReadFull does.
func (s *Stream) ReadFull(p []byte) (int, error) { return io.ReadFull(s, p) }

// Write implements net.Conn.
func (s *Stream) Write(p []byte) (n int, err error) {
	c := s.c
	for s.isHere() {
		if err := s.unwritable(); err != nil {
			return n, s.opError("write", err)
		}
		if n == len(p) {
			return n, nil
		}
		s.asked = false
		room := s.room()
		if rest := p[n:]; len(rest) > room && len(rest) <= s.viewed { // a wait may lose them
			m, err := s.writeViewed(rest)
			return n + m, err
		}
		if room <= 0 {
			if s.outlives() {
				return n, s.opError("write", errReturned)
			}
			s.needsRoom = true
			s.running.co.BeforeSuspend().Suspend()
			continue
		}
		room = min(room, len(p)-n)
		core.Enqueue(c, p[n:n+room])
		n += room
		if n == len(p) {
			return n, nil
		}
	}
	m, err := s.writeShared(p[n:])
	return n + m, err
}

// writeViewed writes a copy of p. It is apart from Write, whose frame decides how large the stacks
// of idle functions are.
func (s *Stream) writeViewed(p []byte) (int, error) {
	s.viewed = 0
	b := append(s.c.Driver.Buffers.Get(len(p)), p...)
	n, err := s.Write(b)
	s.c.Driver.Buffers.Put(b) // the task may have moved to another worker
	return n, err
}

// room is how many bytes are queued before a Write waits.
func (s *Stream) room() int { return s.c.Group.Config.HighWater - s.c.Unsent() }

// unwritable is why nothing can be written, or nil.
func (s *Stream) unwritable() error {
	c := s.c
	by := s.writeBy.Load()
	switch {
	case s.closed.Load():
		return net.ErrClosed
	case by != 0 && s.overdue(by):
		return os.ErrDeadlineExceeded
	case c.Is(core.Closing|core.Broken) && c.Cause() != nil:
		return unwrapOp(c.Cause())
	case c.Is(core.Closing):
		return net.ErrClosed
	case c.Is(core.SendFailed) && c.Cause() != nil:
		return unwrapOp(c.Cause())
	case c.Is(core.WriteClosed | core.Broken):
		return sock.Error("write", syscall.EPIPE)
	}
	return nil
}

// Flush gives all written bytes to the kernel, for a function that is about to compute for long.
func (s *Stream) Flush() error {
	if s.isHere() {
		if s.c.Is(core.SendFailed) {
			return s.opError("write", s.unwritable())
		}
		return s.c.Flush()
	}
	k, err := s.tries()
	if err != nil {
		return s.opError("write", err)
	}
	if err := k.duplex.Flush(); err != nil {
		return k.wrap("write", err)
	}
	return nil
}

// CloseWrite ends writing: all written bytes are sent, then a FIN, and reading goes on.
func (s *Stream) CloseWrite() error {
	if s.isHere() {
		return s.c.CloseWrite()
	}
	k, err := s.tries()
	if err != nil {
		return s.opError("close", err)
	}
	return k.CloseWrite()
}

// CloseRead says that nothing more will be read.
func (s *Stream) CloseRead() error {
	if s.isHere() {
		return s.c.CloseRead()
	}
	k, err := s.tries()
	if err != nil {
		return s.opError("close", err)
	}
	return k.CloseRead()
}

// isHere reports whether the calling goroutine is the running function. It may have shared the
// connection before.
func (s *Stream) isHere() bool {
	b := s.running
	return b != nil && sched.FromContext(b.co.Context()) != nil
}

// outlives reports whether the running function has been started by the stream's
// function, and that has returned: so it is not to wait any more. Else a call that has to
// wait suspends it until something has happened to the connection, and looks again.
func (s *Stream) outlives() bool { return s.ending && s.running != &s.main }

// unwrapOp is an error of the connection without the operation in which it occurred.
func unwrapOp(err error) error {
	var oe *net.OpError
	if errors.As(err, &oe) {
		return oe.Err
	}
	return err
}

func (s *Stream) opError(op string, err error) error {
	if s.ofTask != nil {
		return s.ofTask.socket.opError(op, err)
	}
	network, local := "tcp", s.localAddr(false)
	if local != nil {
		network = local.Network()
	}
	return &net.OpError{Op: op, Net: network, Source: local, Addr: s.RemoteAddr(), Err: err}
}
