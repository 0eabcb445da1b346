package core

import (
	"net"

	"github.com/suiro-go/suiro/internal/sock"
)

// PassTo is Conn.PassTo of package conn.
func (c *Conn) PassTo(h any) error {
	if c.OfStream() || c.Spliced() != nil {
		return c.OpError("pass", ErrSpliced)
	}
	if c.unusable() {
		return c.OpError("pass", net.ErrClosed)
	}
	c.Value = nil
	c.clear(overdue)
	if c.Extras != nil {
		if c.Extras.client != nil {
			c.SetRemoteAddr(nil)
		}
		c.Extras.Clock.Reset()
	}
	startClock(c)
	_ = c.ResumeRead() // it is open
	_ = c.SetHandler(h)
	c.Check(c.Group.Events.OnOpen(c))
	return nil
}

func (c *Conn) unusable() bool {
	return !c.Is(Opened) || c.Is(WriteClosed|Closing|Finished|Broken) || c.Reading.Is(ReadClosed|Ended)
}

// Fresh is Conn.Fresh of package conn.
func (c *Conn) Fresh() bool {
	if c.unusable() || len(c.In.Unread) > 0 || c.Driver.received {
		return false
	}
	return !c.hasInput() && sock.NothingPending(c.Endpoint.FD)
}

// NotifyClose is Conn.NotifyClose of package conn.
func (c *Conn) NotifyClose(f func()) {
	x := c.More()
	x.notifyClose = append(x.notifyClose, f)
}
