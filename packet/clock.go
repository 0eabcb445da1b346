package packet

import (
	"net"
	"net/netip"
	"time"

	"github.com/suiro-go/suiro/internal/alarm"
)

// A clock has a packet socket's deadlines. One alarm serves all of them. Times are the runtime's; 0
// means none.
type clock struct {
	alarm  alarm.Alarm
	user   time.Duration // SetTimer's
	linger time.Duration
}

// SetTimer sets the time at which OnTimer is called, once. The zero time means never, a time in the
// past means now. There is one timer: each call replaces its time. After Close the error matches
// net.ErrClosed.
func (c *Conn) SetTimer(t time.Time) error {
	if c.is(closing | broken) {
		return c.opError("set", netip.AddrPort{}, net.ErrClosed)
	}
	if t.IsZero() {
		c.setTimer(0)
	} else {
		c.setTimer(max(1, c.group.RT.At(t)))
	}
	return nil
}

// setTimer is SetTimer with a time of the runtime; 0: never.
func (c *Conn) setTimer(at time.Duration) {
	if !c.is(closing | broken) {
		c.clock.user = at
	}
}

// checkClock acts on the deadlines that have passed.
func (c *Conn) checkClock() {
	k := &c.clock
	if !k.alarm.Rang() {
		return
	}
	now := c.group.RT.Now() // not cx.Now: another worker may have fired it since this one's tick began
	if k.linger != 0 && now >= k.linger && !c.is(broken) {
		c.lingered()
	}
	if k.user != 0 && now >= k.user && !c.is(closing|broken) {
		k.user = 0
		c.check(c.handler.OnTimer(c))
	}
}

// armClock sets the alarm, so that the task runs by the earliest deadline.
func (c *Conn) armClock() {
	k := &c.clock
	k.alarm.Set(c.group.RT, alarm.Earliest(k.user, k.linger), c.task.Waker())
}

// runInLaterTick makes the task run in a later tick than the one in which the descriptor was
// closed.
func (c *Conn) runInLaterTick() {
	c.clock.alarm.Rang() // the alarm of the tick before
	c.clock.alarm.Set(c.group.RT, c.closed+1, c.task.Waker())
}
