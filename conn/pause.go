package conn

import "net"

// PauseRead has OnData and OnEOF wait for ResumeRead. A little more may be received,
// and is kept; then the peer is held back by the kernel's buffers. Meanwhile the
// peer's FIN goes unnoticed. A reset ends the connection, whatever has arrived before it;
// on Wine 8, and for a Stream, it is noticed when reading is resumed.
func (c *Conn) PauseRead() error {
	if c.is(closing | broken) {
		return c.opError("read", net.ErrClosed)
	}
	c.reading.set(held)
	return nil
}

// ResumeRead ends a PauseRead. With anything unread OnData is called soon, whether
// or not more has come.
func (c *Conn) ResumeRead() error {
	if c.is(closing | broken) {
		return c.opError("read", net.ErrClosed)
	}
	if !c.reading.is(held) {
		return nil
	}
	c.reading.clear(held)
	if len(c.in.Unread) > 0 {
		c.reading.set(unseen)
	}
	c.driver.Cx.Wake(c.task.Waker()) // whatever part of the run has passed comes again
	return nil
}
