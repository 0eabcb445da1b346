package conn

import "net"

// PauseRead makes OnData and OnEOF wait for ResumeRead. A little more may be received, and is kept;
// then the kernel's buffers hold the peer back. Meanwhile the peer's FIN goes unnoticed. A reset
// ends the connection, even if bytes arrived before it. On Wine 8, and for a Stream, it is noticed
// when reading is resumed.
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
	c.driver.Cx.Wake(c.task.Waker()) // the part of the run that has passed is done again
	return nil
}
