package conn

import (
	"net"
	"time"

	"github.com/suiro-go/suiro/internal/deadlines"
	"github.com/suiro-go/suiro/internal/sock"
)

// SetReadDeadline makes OnDeadline run at t, once, even if bytes were received by then. A handler
// that is content sets a later time. A zero t means never. A t in the past means now. The error
// matches net.ErrClosed, and errors.ErrUnsupported for the connection of a Stream, which has
// deadlines of its own.
func (c *Conn) SetReadDeadline(t time.Time) error {
	if c.ofStream() && !t.IsZero() {
		return c.opError("set", errOfStream)
	}
	return c.setDeadline(t, deadlines.Read)
}

// SetWriteDeadline makes writes fail from t on with an error that matches os.ErrDeadlineExceeded.
// If anything is unsent then, the connection is reset and ends with that error. A zero t means
// never; a later deadline lets writes succeed again. Handle.Send does not fail: bytes that it
// brings after t end the connection in the same way. The error matches net.ErrClosed.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.clear(overdue)
	err := c.setDeadline(t, deadlines.Write)
	if err == nil && !t.IsZero() && c.extras.clock.At(deadlines.Write) <= c.group.rt.Now() {
		c.extras.clock.Set(deadlines.Write, 0)
		c.writeOverdue()
	}
	return err
}

// SetDeadline is SetReadDeadline and SetWriteDeadline.
func (c *Conn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

func (c *Conn) setDeadline(t time.Time, what deadlines.Kind) error {
	switch {
	case c.is(closing | broken):
		return c.opError("set", net.ErrClosed)
	case !t.IsZero():
		c.more().clock.Set(what, max(1, c.group.rt.At(t)))
	case c.extras != nil:
		c.extras.clock.Set(what, 0)
	}
	return nil
}

// SetIdleTimeout closes the connection after this long without received or acknowledged bytes, with
// an error that matches os.ErrDeadlineExceeded. 0: never. It counts from now on. The error matches
// net.ErrClosed.
func (c *Conn) SetIdleTimeout(d time.Duration) error {
	switch {
	case c.is(closing | broken):
		return c.opError("set", net.ErrClosed)
	case d > 0:
		c.more().clock.SetIdle(d, c.group.rt.Now(), c.outflow(c.taken()))
	case c.extras != nil:
		c.extras.clock.SetIdle(0, 0, deadlines.Outflow{})
	}
	return nil
}

// SetLinger says how long Close waits for the peer, instead of Config.Linger. 0: not at all. Then
// unsent bytes are dropped and the peer sees a reset, as with SetLinger of a *net.TCPConn.
// Negative: Config.Linger again. The error matches net.ErrClosed.
func (c *Conn) SetLinger(d time.Duration) error {
	switch {
	case c.is(closing | broken):
		return c.opError("set", net.ErrClosed)
	case d == 0:
		c.more().clock.Patience = -1
	case d > 0:
		c.more().clock.Patience = d
	case c.extras != nil:
		c.extras.clock.Patience = 0
	}
	return nil
}

// SetNoDelay turns Nagle's algorithm off (true, the default) or on.
func (c *Conn) SetNoDelay(on bool) error { return c.setOption(sock.SetNoDelay(c.end.FD, on)) }

// SetReadBuffer sets the size of the kernel's receive buffer, in bytes.
func (c *Conn) SetReadBuffer(bytes int) error {
	return c.setOption(sock.SetReadBuffer(c.end.FD, bytes))
}

// SetWriteBuffer sets the size of the kernel's send buffer, in bytes.
func (c *Conn) SetWriteBuffer(bytes int) error {
	return c.setOption(sock.SetWriteBuffer(c.end.FD, bytes))
}

// SetKeepAlive configures keep-alive probes; a duration of 0 or less leaves the
// system's default, and durations count in whole seconds.
func (c *Conn) SetKeepAlive(k net.KeepAliveConfig) error {
	return c.setOption(sock.SetKeepAlive(c.end.FD, k))
}

func (c *Conn) setOption(err error) error {
	switch {
	case err == nil:
		return nil
	case c.is(broken):
		return c.opError("set", net.ErrClosed)
	default:
		return c.opError("set", err)
	}
}
