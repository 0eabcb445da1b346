package conn

// Close ends the connection in order: it sends all written bytes, then a FIN. With the peer's FIN
// the connection is over. Until then up to 2 MiB that still arrive are dropped. Left unread, they
// would cause a reset, which could cost the peer the last bytes. Beyond 2 MiB nothing more is
// received, and the peer is reset as soon as it has taken all output. Config.LingerTimeout, or
// SetLingerTimeout, bounds the wait. A second Close returns an error that matches net.ErrClosed and
// does nothing.
func (c *Conn) Close() error { return c.core.Close() }

// CloseWrite ends writing: all written bytes are sent, then a FIN, and reading goes on. Once the
// peer's FIN has been seen as well the connection is over. A second call, or one after Close,
// returns an error that matches net.ErrClosed and does nothing.
func (c *Conn) CloseWrite() error { return c.core.CloseWrite() }

// CloseRead ends reading: buffered bytes are dropped, and so are those that still arrive. The peer
// does not notice. OnData and OnEOF are not called any more. A second call, or one after Close,
// returns an error that matches net.ErrClosed and does nothing.
func (c *Conn) CloseRead() error { return c.core.CloseRead() }

// Abort ends the connection at once: unsent bytes are dropped, and the peer sees a reset.
func (c *Conn) Abort() { c.core.Abort() }

// CloseByReset closes the connection as Close does, but the peer sees a reset and no end of the
// output. It is for output that is cut short and must not look whole. The reset waits until the
// peer has acknowledged all that was written, since it discards the rest. Config.LingerTimeout
// bounds each step. Only Linux reports acknowledgements; elsewhere the reset comes after
// Config.LingerTimeout. OnClose gets err. If the connection is closing, CloseByReset does nothing.
func (c *Conn) CloseByReset(err error) { c.core.CloseByReset(err) }

// PassTo passes the connection to another handler, as a new one: h.OnOpen is called, and the
// handler before gets no event any more. Its settings are reset: the value, the deadlines,
// PauseRead, and the address of SetRemoteAddr. The idle time-out is Config.IdleTimeout again. Bytes
// written before are sent, and functions of NotifySent are still called. Bytes that are unread are
// h's.
//
// A connection that is not open in both directions stays as it is, and the error matches
// net.ErrClosed. If it is spliced, or a Stream's, the error matches ErrSpliced.
func (c *Conn) PassTo(h Handler) error { return c.core.PassTo(h) }

// Fresh reports whether the connection is as good as a new one. It is open in both directions,
// nothing is unread, and neither bytes nor an end have arrived that the handler has not seen. It is
// for Handle.Do; in OnData it is false, because something has arrived. It asks the kernel: one
// system call.
func (c *Conn) Fresh() bool { return c.core.Fresh() }

// NotifyClose calls f when the connection has ended, right after OnClose, whichever handler it has
// by then.
func (c *Conn) NotifyClose(f func()) { c.core.NotifyClose(f) }
