package conn

import (
	"net"
	"sync/atomic"
	"time"
)

// Close implements net.Conn: written bytes are sent, then the connection ends as by Conn.Close.
// Reads and writes fail from now on. The function goes on until it returns.
func (s *Stream) Close() error {
	if s.closed.Swap(true) {
		return s.opError("close", net.ErrClosed)
	}
	s.tellTask()
	return nil
}

// Abort ends the connection at once; the peer sees a reset.
func (s *Stream) Abort() {
	s.resets.Store(true)
	s.closed.Store(true)
	s.tellTask()
	_ = s.handle.Abort() // there are no turns any more if its function has returned
}

// SetDeadline implements net.Conn.
func (s *Stream) SetDeadline(t time.Time) error {
	return s.setDeadline(t, &s.readBy, &s.writeBy)
}

// SetReadDeadline implements net.Conn.
func (s *Stream) SetReadDeadline(t time.Time) error { return s.setDeadline(t, &s.readBy) }

// SetWriteDeadline implements net.Conn.
func (s *Stream) SetWriteDeadline(t time.Time) error { return s.setDeadline(t, &s.writeBy) }

func (s *Stream) setDeadline(t time.Time, which ...*atomic.Int64) error {
	if s.closed.Load() {
		return s.opError("set", net.ErrClosed)
	}
	at := int64(0)
	if !t.IsZero() {
		at = max(1, int64(s.c.group.rt.At(t)))
	}
	for _, w := range which {
		w.Store(at)
	}
	s.tellTask()
	return nil
}

// overdue reports whether a deadline that is set has passed.
func (s *Stream) overdue(at int64) bool { return int64(s.c.group.rt.Now()) >= at }

// tellTask makes a turn see the changes stored before the call.
func (s *Stream) tellTask() {
	if s.signal.Ring() {
		s.c.task.Wake()
	}
}
