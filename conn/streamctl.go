package conn

import (
	"errors"
	"net"
	"time"

	"github.com/suiro-go/suiro/sched"
)

var (
	_ sched.Releaser = (*Stream)(nil)
	_ sched.Releaser = (*Socket)(nil)
)

// Close implements net.Conn: written bytes are sent, then the connection ends as by Conn.Close.
// Reads and writes fail from now on. The function goes on until it returns. A second Close returns
// an error that matches net.ErrClosed. Another error says that gathered bytes cannot be sent; the
// connection ends all the same.
func (s *Stream) Close() error {
	if s.ofTask != nil {
		return closeShared(s.ofTask.socket, false)
	}
	if s.closed.Swap(true) {
		return s.opError("close", net.ErrClosed)
	}
	var lost error
	if k := s.shared.Load(); k != nil {
		if lost = closeShared(k, false); errors.Is(lost, net.ErrClosed) {
			lost = nil // another task may have closed it
		}
	}
	s.tellTask()
	s.c.EndContext(nil)
	return lost
}

// Abort ends the connection at once; the peer sees a reset.
func (s *Stream) Abort() {
	if s.ofTask != nil {
		_ = closeShared(s.ofTask.socket, true) // it may be closed
		return
	}
	s.resets.Store(true)
	s.closed.Store(true)
	s.tellTask()
	_ = s.Handle().Abort() // there are no turns any more if its function has returned
	if k := s.shared.Load(); k != nil {
		_ = closeShared(k, true) // it may be closed
	}
}

// Release implements sched.Releaser, for a Stream that is a result that nobody takes: of a dial or
// an accept in a JoinSet that is closed, or in a task that is detached. It is Abort. A pool's
// connection so gives its place back. Of a handler's Stream it does nothing, since its function
// ends the connection. Any goroutine may call it; it does not block.
func (s *Stream) Release() {
	if s != nil && s.ofTask != nil {
		s.ofTask.socket.Release()
	}
}

// SetDeadline implements net.Conn. Any goroutine may call it, also while a Read or Write waits. The
// zero time is no deadline. On a virtual clock (sched.Config.Paused), the deadlines of a handler's
// Stream are times of that clock. Those of other Streams and of Sockets are real time. The error
// matches net.ErrClosed after Close.
func (s *Stream) SetDeadline(t time.Time) error { return s.setDeadlines(t, true, true) }

// SetReadDeadline implements net.Conn.
func (s *Stream) SetReadDeadline(t time.Time) error { return s.setDeadlines(t, true, false) }

// SetWriteDeadline implements net.Conn.
func (s *Stream) SetWriteDeadline(t time.Time) error { return s.setDeadlines(t, false, true) }

func (s *Stream) setDeadlines(t time.Time, read, write bool) error {
	if s.ofTask != nil {
		return s.ofTask.socket.setDeadlines(t, read, write)
	}
	if s.closed.Load() {
		return s.opError("set", net.ErrClosed)
	}
	at := int64(0)
	if !t.IsZero() {
		at = max(1, int64(s.c.Group.Runtime.At(t)))
	}
	if read {
		s.readBy.Store(at)
	}
	if write {
		s.writeBy.Store(at)
	}
	s.tellTask()
	if k := s.shared.Load(); k != nil { // else share sees the stored value
		if s.virtual() {
			t = passedIf(at != 0 && s.overdue(at)) // a turn sees the rest
		}
		return k.setDeadlines(t, read, write)
	}
	return nil
}

// overdue reports whether a deadline that is set has passed.
func (s *Stream) overdue(at int64) bool { return int64(s.c.Group.Runtime.Now()) >= at }

// tellTask makes a turn see the changes stored before the call.
func (s *Stream) tellTask() {
	if s.signal.Ring() {
		s.c.Task.Wake()
	}
}
