package conn

import (
	"net"
	"time"
)

// SetReadDeadline makes OnDeadline run at t, once, even if bytes were received by then. A handler
// that is content sets a later time. A zero t means never. A t in the past means now. The error
// matches net.ErrClosed, and errors.ErrUnsupported for the connection of a Stream, which has
// deadlines of its own.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.core.SetReadDeadline(t) }

// SetWriteDeadline makes writes fail from t on with an error that matches os.ErrDeadlineExceeded.
// If anything is unsent then, the connection is reset and ends with that error. A zero t means
// never; a later deadline lets writes succeed again. Handle.Send does not fail: bytes that it
// brings after t end the connection in the same way. The error matches net.ErrClosed.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.core.SetWriteDeadline(t) }

// SetDeadline is SetReadDeadline and SetWriteDeadline.
func (c *Conn) SetDeadline(t time.Time) error { return c.core.SetDeadline(t) }

// SetIdleTimeout closes the connection after this long without received or acknowledged bytes, with
// an error that matches os.ErrDeadlineExceeded. 0: never. It counts from now on. The error matches
// net.ErrClosed.
func (c *Conn) SetIdleTimeout(d time.Duration) error { return c.core.SetIdleTimeout(d) }

// SetLingerTimeout says how long Close waits for the peer, instead of Config.LingerTimeout. 0: not
// at all. Then unsent bytes are dropped and the peer sees a reset, as with SetLinger of a
// *net.TCPConn. Negative: Config.LingerTimeout again. The error matches net.ErrClosed.
func (c *Conn) SetLingerTimeout(d time.Duration) error { return c.core.SetLingerTimeout(d) }

// SetNoDelay turns Nagle's algorithm off (true, the default) or on.
func (c *Conn) SetNoDelay(on bool) error { return c.core.SetNoDelay(on) }

// SetReadBuffer sets the size of the kernel's receive buffer, in bytes.
func (c *Conn) SetReadBuffer(bytes int) error { return c.core.SetReadBuffer(bytes) }

// SetWriteBuffer sets the size of the kernel's send buffer, in bytes.
func (c *Conn) SetWriteBuffer(bytes int) error { return c.core.SetWriteBuffer(bytes) }

// SetKeepAliveConfig configures keep-alive probes; a duration of 0 or less leaves the
// system's default, and durations count in whole seconds.
func (c *Conn) SetKeepAliveConfig(k net.KeepAliveConfig) error { return c.core.SetKeepAliveConfig(k) }
