package conn

import (
	"io"
	"net"

	"github.com/suiro-go/suiro/reactor"
)

// Buffered is the number of bytes that have been received and not read.
func (c *Conn) Buffered() int { return len(c.in.Unread) }

// Peek is the next n unread bytes without reading them; all of them for n < 0.
// If there are fewer it returns those and io.ErrShortBuffer. The slice is valid
// until the handler's method returns.
func (c *Conn) Peek(n int) ([]byte, error) {
	switch {
	case n < 0:
		n = len(c.in.Unread)
	case n > len(c.in.Unread):
		return c.in.Unread, io.ErrShortBuffer
	}
	return c.in.Unread[:n:n], nil
}

// Next reads the next n bytes, all of them for n < 0, without a copy. If there
// are fewer it reads nothing and returns io.ErrShortBuffer. The slice is valid
// until the handler's method returns.
func (c *Conn) Next(n int) ([]byte, error) {
	p, err := c.Peek(n)
	if err != nil {
		return nil, err
	}
	c.in.Unread = c.in.Unread[len(p):]
	return p, nil
}

// Discard reads the next n bytes, all of them for n < 0, and drops them. It
// returns how many those were, with io.ErrShortBuffer if fewer than n.
func (c *Conn) Discard(n int) (int, error) {
	p, err := c.Peek(n)
	c.in.Unread = c.in.Unread[len(p):]
	return len(p), err
}

// Read implements io.Reader over the buffered bytes. Without any it returns ErrWouldBlock, or
// io.EOF after the peer's FIN.
func (c *Conn) Read(p []byte) (int, error) {
	if len(c.in.Unread) == 0 && len(p) > 0 {
		switch {
		case c.is(broken|closing) || c.reading.is(deaf):
			return 0, c.opError("read", net.ErrClosed)
		case c.reading.is(ended):
			return 0, c.filter().eof()
		}
		return 0, ErrWouldBlock
	}
	n := copy(p, c.in.Unread)
	c.in.Unread = c.in.Unread[n:]
	return n, nil
}

// WriteTo writes the buffered bytes to w, and discards as many as w took.
func (c *Conn) WriteTo(w io.Writer) (int64, error) {
	if len(c.in.Unread) == 0 {
		return 0, nil
	}
	n, err := w.Write(c.in.Unread)
	if err == nil && n < len(c.in.Unread) {
		err = io.ErrShortWrite
	}
	c.in.Unread = c.in.Unread[n:]
	return int64(n), err
}

var (
	_ io.Reader   = (*Conn)(nil)
	_ io.WriterTo = (*Conn)(nil)
	_ io.Writer   = (*Conn)(nil)
)

// detach ends the use of memory that is not the connection's own: unread bytes there are copied.
func (c *Conn) detach() { c.in.Detach(&c.driver.buffers, c.releaser()) }

// releaser takes back chunks; nil: none can have arrived.
func (c *Conn) releaser() reactor.Reactor {
	if c.home == nil {
		return nil
	}
	return c.home.R
}
