package conn

import (
	"net"
	"time"

	"github.com/suiro-go/suiro/sched"
)

// A clock is a connection's deadlines. One timer serves them all, and a deadline
// that moves later, as most do with every message, is only stored: when the
// timer fires too early it is set again for what is left.
//
// Times are the runtime's; 0 means none.
type clock struct {
	timer  sched.Timer
	armed  time.Duration // when the timer fires
	read   time.Duration
	linger time.Duration
	unsent int // when linger was set
}

// SetReadDeadline has OnDeadline called at t, once, whatever has been received
// by then: a handler that is content sets a later time. A zero t means never.
// A t in the past means now. The error matches net.ErrClosed.
func (c *Conn) SetReadDeadline(t time.Time) error {
	if c.is(closing | broken) {
		return c.opError("set", net.ErrClosed)
	}
	if t.IsZero() {
		if c.extras != nil {
			c.extras.clock.read = 0
		}
		return nil
	}
	c.more().clock.read = max(1, c.group.rt.At(t))
	return nil
}

// next is the earliest deadline, or 0.
func (k *clock) next() time.Duration {
	if k.linger != 0 && (k.read == 0 || k.linger < k.read) {
		return k.linger
	}
	return k.read
}

// checkClock acts on the deadlines that have passed.
func (c *Conn) checkClock() {
	k := &c.extras.clock
	if k.armed == 0 || !k.timer.Fired() {
		return
	}
	now := c.group.rt.Now() // not cx.Now: another worker may have fired it since this one's tick began
	k.armed = 0
	if k.linger != 0 && now >= k.linger {
		c.lingered()
	}
	if k.read != 0 && now >= k.read && !c.is(closing|broken) {
		k.read = 0
		c.check(c.handler.OnDeadline(c))
		c.in.detach(c.driver, c.home)
	}
}

// armClock sees to it that the timer fires by the earliest deadline.
func (c *Conn) armClock() {
	if c.extras == nil {
		return
	}
	k := &c.extras.clock
	if next := k.next(); next != 0 && (k.armed == 0 || next < k.armed) {
		k.armed = next
		c.group.rt.StartTimer(&k.timer, next, c.task.Waker())
	}
}
