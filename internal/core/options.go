package core

import (
	"net"
	"time"

	"github.com/suiro-go/suiro/internal/deadlines"
	"github.com/suiro-go/suiro/internal/sock"
)

// SetReadDeadline is Conn.SetReadDeadline of package conn.
func (c *Conn) SetReadDeadline(t time.Time) error {
	if c.OfStream() && !t.IsZero() {
		return c.OpError("set", errOfStream)
	}
	return c.setDeadline(t, deadlines.Read)
}

// SetWriteDeadline is Conn.SetWriteDeadline of package conn.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.clear(overdue)
	err := c.setDeadline(t, deadlines.Write)
	if err == nil && !t.IsZero() && c.Extras.Clock.At(deadlines.Write) <= c.Group.Runtime.Now() {
		c.Extras.Clock.Set(deadlines.Write, 0)
		writeOverdue(c)
	}
	return err
}

// SetDeadline is Conn.SetDeadline of package conn.
func (c *Conn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

func (c *Conn) setDeadline(t time.Time, what deadlines.Kind) error {
	switch {
	case c.Is(Closing | Broken):
		return c.OpError("set", net.ErrClosed)
	case !t.IsZero():
		c.More().Clock.Set(what, max(1, c.Group.Runtime.At(t)))
	case c.Extras != nil:
		c.Extras.Clock.Set(what, 0)
	}
	return nil
}

// SetIdleTimeout is Conn.SetIdleTimeout of package conn.
func (c *Conn) SetIdleTimeout(d time.Duration) error {
	switch {
	case c.Is(Closing | Broken):
		return c.OpError("set", net.ErrClosed)
	case d > 0:
		c.More().Clock.SetIdle(d, c.Group.Runtime.Now(), outflow(c, c.Inbox.Right.Sent()))
	case c.Extras != nil:
		c.Extras.Clock.SetIdle(0, 0, deadlines.Outflow{})
	}
	return nil
}

// SetLingerTimeout is Conn.SetLingerTimeout of package conn.
func (c *Conn) SetLingerTimeout(d time.Duration) error {
	switch {
	case c.Is(Closing | Broken):
		return c.OpError("set", net.ErrClosed)
	case d == 0:
		c.More().Clock.Patience = -1
	case d > 0:
		c.More().Clock.Patience = d
	case c.Extras != nil:
		c.Extras.Clock.Patience = 0
	}
	return nil
}

// SetNoDelay is Conn.SetNoDelay of package conn.
func (c *Conn) SetNoDelay(on bool) error { return c.setOption(sock.SetNoDelay(c.Endpoint.FD, on)) }

// SetReadBuffer is Conn.SetReadBuffer of package conn.
func (c *Conn) SetReadBuffer(bytes int) error {
	return c.setOption(sock.SetReadBuffer(c.Endpoint.FD, bytes))
}

// SetWriteBuffer is Conn.SetWriteBuffer of package conn.
func (c *Conn) SetWriteBuffer(bytes int) error {
	return c.setOption(sock.SetWriteBuffer(c.Endpoint.FD, bytes))
}

// SetKeepAliveConfig is Conn.SetKeepAliveConfig of package conn.
func (c *Conn) SetKeepAliveConfig(k net.KeepAliveConfig) error {
	return c.setOption(sock.SetKeepAlive(c.Endpoint.FD, k))
}

func (c *Conn) setOption(err error) error {
	switch {
	case err == nil:
		return nil
	case c.Is(Broken):
		return c.OpError("set", net.ErrClosed)
	default:
		return c.OpError("set", err)
	}
}
