package core

import (
	"io"
	"net"

	"github.com/suiro-go/suiro/internal/flow"
)

// A reader is the receive side of a connection: the bytes that its task has received. Its methods
// say who receives them (see package receive) and give them to the handler. Conn.Reading is a part
// of it that an idle connection needs too.
type reader struct {
	c  *Conn // nil: see pendingWork
	In flow.Input
}

// Buffered is Conn.Buffered of package conn.
func (c *Conn) Buffered() int { return len(c.In.Unread) }

// Peek is Conn.Peek of package conn.
func (c *Conn) Peek(n int) ([]byte, error) {
	switch {
	case n < 0:
		n = len(c.In.Unread)
	case n > len(c.In.Unread):
		return c.In.Unread, io.ErrShortBuffer
	}
	return c.In.Unread[:n:n], nil
}

// Next is Conn.Next of package conn.
func (c *Conn) Next(n int) ([]byte, error) {
	p, err := c.Peek(n)
	if err != nil {
		return nil, err
	}
	c.skip(p)
	return p, nil
}

// skip marks the first unread bytes as read. It writes nothing if there are none: connections that
// have ended share their pendingWork.
func (r *reader) skip(p []byte) {
	if len(p) > 0 {
		r.In.Unread = r.In.Unread[len(p):]
	}
}

// Discard is Conn.Discard of package conn.
func (c *Conn) Discard(n int) (int, error) {
	p, err := c.Peek(n)
	c.skip(p)
	return len(p), err
}

// Read is Conn.Read of package conn.
func (c *Conn) Read(p []byte) (int, error) {
	if len(c.In.Unread) == 0 && len(p) > 0 {
		switch {
		case c.Is(Broken|Closing) || c.Reading.Is(ReadClosed):
			return 0, c.OpError("read", net.ErrClosed)
		case c.Reading.Is(Ended):
			return 0, c.Filter().EOF()
		}
		return 0, ErrWouldBlock
	}
	n := copy(p, c.In.Unread)
	c.skip(c.In.Unread[:n])
	return n, nil
}

// WriteTo is Conn.WriteTo of package conn.
func (c *Conn) WriteTo(w io.Writer) (int64, error) {
	if len(c.In.Unread) == 0 {
		return 0, nil
	}
	n, err := w.Write(c.In.Unread)
	if err == nil && n < len(c.In.Unread) {
		err = io.ErrShortWrite
	}
	c.In.Unread = c.In.Unread[n:]
	return int64(n), err
}
