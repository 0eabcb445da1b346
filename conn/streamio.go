package conn

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/sched"
)

// errReturned is for those that wait when the stream's function does not run any more.
var errReturned = fmt.Errorf("conn: the stream's function has returned: %w", net.ErrClosed)

// errElsewhere is for calls from where they cannot wait.
var errElsewhere = fmt.Errorf("conn: a Stream was used outside of its function, where its Handle is for, or after its worker stopped: %w", net.ErrClosed)

// Read implements net.Conn.
func (s *Stream) Read(p []byte) (int, error) {
	for {
		n, ready, err := s.tryRead(p)
		if ready {
			return n, err
		}
		if s.outlives() {
			return 0, s.opError("read", errReturned)
		}
		s.running.co.Suspend()
	}
}

// tryRead is Read, unless that has to wait: then ready is false.
func (s *Stream) tryRead(p []byte) (n int, ready bool, err error) {
	c := s.c
	by := s.readBy.Load()
	switch {
	case s.running == nil:
		return 0, true, s.opError("read", errElsewhere)
	case s.closed.Load():
		return 0, true, s.opError("read", net.ErrClosed)
	case by != 0 && s.overdue(by):
		return 0, true, s.opError("read", os.ErrDeadlineExceeded)
	case c.reading.is(deaf):
		return 0, true, io.EOF
	case len(p) == 0:
		return 0, true, nil
	case len(c.in.Unread) > 0:
		n := copy(p, c.in.Unread)
		c.in.Unread = c.in.Unread[n:]
		s.asked = true
		return n, true, nil
	case c.is(closing|broken) && c.cause() != nil:
		return 0, true, s.opError("read", unwrapOp(c.cause()))
	// by the Handle: bytes that the peer still sent were dropped
	case c.is(closing) && !c.reading.is(endSeen):
		return 0, true, s.opError("read", net.ErrClosed)
	case c.reading.is(ended):
		return 0, true, s.endError()
	case c.is(closing | broken):
		return 0, true, s.opError("read", net.ErrClosed)
	case s.idleAtTheEnd():
		return 0, true, io.EOF
	}
	return 0, false, nil
}

// idleAtTheEnd reports whether the server shuts down and no request is in progress, as far
// as a stream can know.
func (s *Stream) idleAtTheEnd() bool { return s.draining.Load() && !s.asked && !s.watches }

// endError is what Read returns at the peer's end.
func (s *Stream) endError() error {
	if err := s.c.filter().eof(); err != io.EOF {
		return s.opError("read", err)
	}
	return io.EOF
}

// ReadFull reads exactly len(p) bytes, as io.ReadFull does.
func (s *Stream) ReadFull(p []byte) (int, error) { return io.ReadFull(s, p) }

// Write implements net.Conn.
func (s *Stream) Write(p []byte) (n int, err error) {
	c := s.c
	for {
		if err := s.unwritable(); err != nil {
			return n, s.opError("write", err)
		}
		if n == len(p) {
			return n, nil
		}
		s.asked = false
		room := c.group.cfg.HighWater - c.Unsent()
		if room <= 0 {
			if s.outlives() {
				return n, s.opError("write", errReturned)
			}
			s.needsRoom = true
			s.running.co.Suspend()
			continue
		}
		room = min(room, len(p)-n)
		enqueue(c, p[n:n+room])
		n += room
		if n == len(p) {
			return n, nil
		}
	}
}

// unwritable is why nothing can be written, or nil.
func (s *Stream) unwritable() error {
	c := s.c
	by := s.writeBy.Load()
	switch {
	case s.running == nil:
		return errElsewhere
	case s.closed.Load():
		return net.ErrClosed
	case by != 0 && s.overdue(by):
		return os.ErrDeadlineExceeded
	case c.is(closing|broken) && c.cause() != nil:
		return unwrapOp(c.cause())
	case c.is(closing):
		return net.ErrClosed
	case c.is(mute | broken):
		return sock.Error("write", syscall.EPIPE)
	}
	return nil
}

// Flush gives all written bytes to the kernel, for a function that is about to compute for long.
func (s *Stream) Flush() error {
	if s.running == nil {
		return s.opError("write", errElsewhere)
	}
	return s.c.Flush()
}

// CloseWrite ends writing: all written bytes are sent, then a FIN, and reading goes on.
func (s *Stream) CloseWrite() error {
	if s.running == nil {
		return s.opError("close", errElsewhere)
	}
	return s.c.CloseWrite()
}

// CloseRead says that nothing more will be read.
func (s *Stream) CloseRead() error {
	if s.running == nil {
		return s.opError("close", errElsewhere)
	}
	return s.c.CloseRead()
}

// Buffered is the number of bytes that can be read without waiting.
func (s *Stream) Buffered() int {
	if s.running == nil {
		return 0
	}
	return len(s.c.in.Unread)
}

// Readable is a future that is done when Read would not wait: for Select.
func (s *Stream) Readable() sched.Future[struct{}] {
	return sched.FutureFunc[struct{}](func(*sched.Context) (struct{}, error) {
		if _, _, err := s.tryRead(nil); err != nil || len(s.c.in.Unread) > 0 || (s.c.is(broken) || s.c.reading.is(ended)) || s.idleAtTheEnd() {
			return struct{}{}, nil
		}
		// each event of the connection polls it again
		return struct{}{}, sched.ErrPending
	})
}

// Draining is a future that is done when the server shuts down. The function should then return; it
// is ended when the server has waited for long enough. Once Draining has been called, Read does not
// return io.EOF because of the shutdown, see Sequential.
func (s *Stream) Draining() sched.Future[struct{}] {
	s.watches = true
	return sched.FutureFunc[struct{}](func(*sched.Context) (struct{}, error) {
		if s.draining.Load() {
			return struct{}{}, nil
		}
		return struct{}{}, sched.ErrPending
	})
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
	network := "tcp"
	if s.local != nil {
		network = s.local.Network()
	}
	return &net.OpError{Op: op, Net: network, Source: s.local, Addr: s.RemoteAddr(), Err: err}
}
