package conn

import (
	"net"
	"syscall"

	"github.com/suiro-go/suiro/internal/sock"
)

// SyscallConn is the descriptor for system calls that Socket has no method for, above all
// socket options. It can be used beside the reactor, from any goroutine, and after Close its
// methods return net.ErrClosed. A duplicate of the descriptor does not delay the connection's
// end:
//
//   - Control gives its function a duplicate of the descriptor.
//   - Read does so too. What has arrived is in general not in the kernel any more: a read of it
//     then ends with EAGAIN while the connection lives, which is enough to ask whether it does.
//   - Write calls its function when everything written before has left, and nothing else is
//     written meanwhile. The function must not use the Socket.
//
// Neither waits until the descriptor is ready: if its function returns false, the error matches
// errors.ErrUnsupported.
func (s *Socket) SyscallConn() (syscall.RawConn, error) { return rawStream{s}, nil }

// A rawStream is the syscall.RawConn of a Socket.
type rawStream struct{ s *Socket }

// Control implements syscall.RawConn.
func (r rawStream) Control(f func(fd uintptr)) error {
	return r.do("raw-control", func(fd uintptr) bool { f(fd); return true })
}

// Read implements syscall.RawConn.
func (r rawStream) Read(f func(fd uintptr) (done bool)) error { return r.do("raw-read", f) }

func (r rawStream) do(op string, f func(fd uintptr) bool) error {
	s := r.s
	err := net.ErrClosed
	if c := s.conn(); c != nil && !s.duplex.State().Closed {
		err = c.lendFD(f)
	}
	return s.opErrorOf(op, err)
}

// lendFD calls f with a duplicate of the descriptor.
func (c *Conn) lendFD(f func(fd uintptr) bool) error {
	fd := -1
	err := c.withFD(func(orig int) (err error) {
		if fd, err = sock.Duplicate(orig); err != nil {
			return err
		}
		if c.inbox.mail == nil {
			c.inbox.mail = new(mail) // some driver's from then on
		}
		c.inbox.duplicates++
		return nil
	})
	if err != nil {
		return err
	}
	defer func() { // the duplicate is closed
		c.mu.Lock()
		c.inbox.duplicates--
		c.mu.Unlock()
	}()
	return sock.Lend(fd, f)
}

// duplicated reports whether a function of a RawConn has a duplicate of the descriptor. Then close
// alone would not end the connection.
func (c *Conn) duplicated() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.inbox.mail != nil && c.inbox.duplicates > 0
}

// Write implements syscall.RawConn.
func (r rawStream) Write(f func(fd uintptr) (done bool)) error {
	s := r.s
	if err := s.duplex.BeginWrite(); err != nil {
		return s.opError("raw-write", err)
	}
	defer s.duplex.EndWrite()
	for {
		called, err := s.c.writeRaw(f, s)
		if !called && err == nil {
			if err = s.c.tell(command{kind: cmdInner, do: s.roomOnceSent}); err == nil {
				err = s.duplex.AwaitRoom()
			}
		}
		if err != nil {
			return s.opError("raw-write", err)
		}
		if called {
			return nil
		}
	}
}

// roomOnceSent calls MadeRoom when the queue has been sent.
func (s *Socket) roomOnceSent(c *Conn) { c.NotifySent(func(error) { s.duplex.MadeRoom() }) }

// writeRaw calls f with the descriptor unless something is to be sent before: as put sends.
func (c *Conn) writeRaw(f func(fd uintptr) bool, s *Socket) (called bool, err error) {
	c.mu.Lock()
	in := &c.inbox
	switch {
	case !c.filter().passes(s):
		err = errOverSocket
	case in.closed():
		err = errGone
	}
	if err != nil || !in.right.Try() {
		c.mu.Unlock()
		return false, err
	}
	fd := c.end.FD
	c.mu.Unlock()
	defer func() { // also if f panics
		c.mu.Lock()
		told := in.right.GiveUp(0, 0)
		waiter := in.roomFor(told)
		c.mu.Unlock()
		if told.Task {
			c.task.Wake()
		}
		if waiter != nil {
			waiter.MadeRoom()
		}
	}()
	if !f(uintptr(fd)) {
		return true, sock.ErrWouldWait
	}
	return true, nil
}
