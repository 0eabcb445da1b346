package core

import "net"

// PauseRead is Conn.PauseRead of package conn.
func (c *Conn) PauseRead() error {
	if c.Is(Closing | Broken) {
		return c.OpError("read", net.ErrClosed)
	}
	c.Reading.Set(UserPaused)
	return nil
}

// GoOn ends the pause of a splice.
func (c *Conn) GoOn() {
	c.Reading.Clear(Backed)
	peersTurn(c)
}

// ResumeRead is Conn.ResumeRead of package conn.
func (c *Conn) ResumeRead() error {
	if c.Is(Closing | Broken) {
		return c.OpError("read", net.ErrClosed)
	}
	if !c.Reading.Is(UserPaused) {
		return nil
	}
	c.Reading.Clear(UserPaused)
	peersTurn(c)
	if len(c.In.Unread) > 0 {
		c.Reading.Set(Unoffered)
	}
	c.Driver.Cx.Wake(c.Task.Waker()) // the part of the run that has passed is done again
	return nil
}
