package servertest

import (
	"cmp"
	"io"
	"net"
	"sync"
	"time"
)

// An Addr is the address of an end or of a listener: a name on the network "memory".
type Addr string

// Network implements net.Addr.
func (Addr) Network() string { return "memory" }

// String implements net.Addr.
func (a Addr) String() string { return string(a) }

// A Conn is one end of a connection in memory. Its methods are those of *net.TCPConn and may be
// called from any goroutine. Concurrent writes are not mixed.
//
// After Close the peer reads all bytes that were written before, and then io.EOF. The peer's writes
// fail with an error that matches syscall.EPIPE.
type Conn struct {
	in, out       *half
	local, remote Addr

	readBy, writeBy deadline
	reading         chan struct{} // holds an element during a read
	writing         chan struct{} // holds an element during a write
	closed          chan struct{}
	once            sync.Once
}

var _ net.Conn = (*Conn)(nil)

const defaultBuffer = 64 << 10

// Pipe returns the two ends of a connection that buffers up to this number of bytes in each
// direction. 0: 64 KiB.
func Pipe(buffer int) (a, b *Conn) { return pipe(buffer, "a", "b") }

func pipe(buffer int, x, y Addr) (a, b *Conn) {
	buffer = cmp.Or(max(0, buffer), defaultBuffer)
	to, from := &half{limit: buffer}, &half{limit: buffer}
	return newConn(from, to, x, y), newConn(to, from, y, x)
}

func newConn(in, out *half, local, remote Addr) *Conn {
	return &Conn{in: in, out: out, local: local, remote: remote,
		reading: make(chan struct{}, 1), writing: make(chan struct{}, 1), closed: make(chan struct{})}
}

// Read implements net.Conn.
func (c *Conn) Read(p []byte) (int, error) {
	c.reading <- struct{}{} // an earlier Read returns when the connection is closed or its deadline passes
	defer func() { <-c.reading }()
	if len(p) == 0 && !c.isClosed() {
		return 0, nil
	}
	n, err := c.in.read(p, c.closed, c.readBy.wait())
	return n, c.opError("read", err)
}

// Write implements net.Conn. It returns when the buffer has taken everything.
func (c *Conn) Write(p []byte) (int, error) {
	c.writing <- struct{}{}
	defer func() { <-c.writing }()
	n, err := c.out.write(p, c.closed, c.writeBy.wait())
	return n, c.opError("write", err)
}

// Close implements net.Conn.
func (c *Conn) Close() error {
	again := true
	c.once.Do(func() {
		again = false
		close(c.closed)
		c.out.finish()
		c.in.refuse()
		c.readBy.set(time.Time{}) // stops the timers
		c.writeBy.set(time.Time{})
	})
	if again {
		return c.opError("close", net.ErrClosed)
	}
	return nil
}

// CloseWrite closes this direction: the peer reads the bytes written so far, and then io.EOF.
func (c *Conn) CloseWrite() error { return c.halfClose(c.out.finish) }

// CloseRead drops unread bytes. The peer's writes fail from then on.
func (c *Conn) CloseRead() error { return c.halfClose(c.in.refuse) }

func (c *Conn) halfClose(end func()) error {
	if c.isClosed() {
		return c.opError("close", net.ErrClosed)
	}
	end()
	return nil
}

// LocalAddr implements net.Conn.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error { return c.setDeadlines(t, &c.readBy, &c.writeBy) }

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.setDeadlines(t, &c.readBy) }

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.setDeadlines(t, &c.writeBy) }

func (c *Conn) setDeadlines(t time.Time, all ...*deadline) error {
	if c.isClosed() {
		return c.opError("set", net.ErrClosed)
	}
	for _, d := range all {
		d.set(t)
	}
	return nil
}

func (c *Conn) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

func (c *Conn) opError(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return &net.OpError{Op: op, Net: c.local.Network(), Source: c.local, Addr: c.remote, Err: err}
}
