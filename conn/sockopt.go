package conn

import (
	"net"

	"github.com/suiro-go/suiro/internal/sock"
)

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
