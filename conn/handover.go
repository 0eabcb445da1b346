package conn

import (
	"net"

	"github.com/suiro-go/suiro/internal/sock"
)

// HandOver makes the connection that of another handler, as a new one would be: h.OnOpen is called,
// and the handler before gets no event any more. Its settings are reset: the value, the deadlines,
// PauseRead, and the address of SetRemoteAddr. The idle time-out is Config.IdleTimeout again. Bytes
// written before are sent, and NotifySent keeps its word. Bytes that are unread are h's.
//
// A connection that is not open in both directions stays as it is, and the error matches
// net.ErrClosed. So does that of a Stream, or one that is spliced: ErrSpliced.
func (c *Conn) HandOver(h Handler) error {
	if c.ofStream() || c.spliced() != nil {
		return c.opError("hand over", ErrSpliced)
	}
	if c.unusable() {
		return c.opError("hand over", net.ErrClosed)
	}
	c.value = nil
	c.clear(overdue)
	if c.extras != nil {
		if c.extras.client != nil {
			c.SetRemoteAddr(nil)
		}
		c.extras.clock.Reset()
	}
	c.startClock()
	_ = c.ResumeRead() // it is open
	_ = c.SetHandler(h)
	c.check(h.OnOpen(c))
	return nil
}

func (c *Conn) unusable() bool {
	return !c.is(opened) || c.is(mute|closing|finished|broken) || c.reading.is(deaf|ended)
}

// Fresh reports whether the connection is as good as a new one. It is open in both directions,
// nothing is unread, and neither bytes nor an end have arrived that the handler has not seen. It is
// for Handle.Do; in OnData it is false, because something has arrived. It asks the kernel: one
// system call.
func (c *Conn) Fresh() bool {
	if c.unusable() || len(c.in.Unread) > 0 || c.driver.news {
		return false
	}
	c.mu.Lock()
	news := c.inbox.recvEnded || c.inbox.mail != nil && len(c.inbox.chunks) > 0
	c.mu.Unlock()
	return !news && sock.Quiet(c.end.FD)
}

// NotifyClose calls f when the connection has ended, right after OnClose, whichever handler it has
// by then.
func (c *Conn) NotifyClose(f func()) {
	x := c.more()
	x.notifyClose = append(x.notifyClose, f)
}
