package conn

import (
	"cmp"
	"os"
	"time"

	"github.com/suiro-go/suiro/internal/deadlines"
	"github.com/suiro-go/suiro/internal/sock"
)

// outflow is how far the output is, after the kernel has taken that much. It costs a system call
// once something was sent.
func (c *Conn) outflow(taken uint64) deadlines.Outflow {
	if taken == 0 {
		return deadlines.Outflow{}
	}
	return deadlines.Outflow{Taken: taken, Kept: sock.Unacked(c.end.FD)}
}

// startClock sets the deadlines that the configuration has for every connection,
// when it is established.
func (c *Conn) startClock() {
	if d := c.group.cfg.IdleTimeout; d > 0 {
		_ = c.SetIdleTimeout(d)
	}
	if c.group.cfg.WriteTimeout > 0 {
		c.more()
	}
}

// armClock sees to it that the task runs by the earliest deadline.
func (c *Conn) armClock() {
	if c.extras == nil {
		return
	}
	k := &c.extras.clock
	if limit := c.group.cfg.WriteTimeout; limit > 0 && c.is(opened) {
		switch unsent, taken := c.progress(); {
		case unsent == 0 || c.is(closing): // then the time to linger counts
			k.Set(deadlines.Stall, 0)
		case !k.Stalls():
			k.Unsent(c.group.rt.Now(), limit, c.outflow(taken))
		}
	}
	c.extras.alarm.Set(c.group.rt, k.Next(), c.task.Waker())
}

// checkClock acts on the deadlines that have passed.
func (c *Conn) checkClock() {
	if !c.extras.alarm.Rang() {
		return
	}
	// not cx.Now: another worker may have fired it since this one's tick began
	now := c.group.rt.Now()
	for what := range c.extras.clock.Due(now) {
		if c.is(broken) {
			return
		}
		c.meet(what, now)
	}
}

// meet acts on one deadline.
func (c *Conn) meet(what deadlines.Kind, now time.Duration) {
	k := &c.extras.clock
	switch what {
	case deadlines.Connect:
		c.fail(c.opError("dial", os.ErrDeadlineExceeded))
	case deadlines.Linger:
		c.lingered(now)
	case deadlines.Read:
		c.check(c.handler.OnDeadline(c))
		c.detach()
	case deadlines.Write:
		c.writeOverdue()
	case deadlines.Stall:
		unsent, taken := c.progress()
		if unsent > 0 && !c.is(closing) && k.Stuck(now, c.group.cfg.WriteTimeout, c.outflow(taken)) {
			c.stuck()
		}
	case deadlines.Idle:
		if k.Inactive(now, c.outflow(c.taken())) {
			c.conclude(c.opError("idle", os.ErrDeadlineExceeded))
		}
	}
}

// writeOverdue acts on the write deadline.
func (c *Conn) writeOverdue() {
	c.set(overdue)
	if c.Unsent() > 0 {
		c.stuck()
	}
}

// stuck ends a connection whose peer takes too little.
func (c *Conn) stuck() { c.failWrite(c.opError("write", os.ErrDeadlineExceeded)) }

// linger starts a period of Config.Linger.
func (c *Conn) linger() {
	k := &c.more().clock
	now := c.group.rt.Now() // not cx.Now: the handler may have taken long
	k.Linger(now, cmp.Or(k.Patience, c.group.cfg.Linger))
	if c.Unsent() > 0 || k.Flooded() {
		k.Parting(c.outflow(c.taken()))
	}
	c.shortenLinger()
}

// shortenLinger makes a closed connection that is to end look early whether the peer has taken
// everything.
func (c *Conn) shortenLinger() {
	if c.is(finished) && c.Draining() {
		c.extras.clock.Shorten(c.group.rt.Now())
	}
}

// lingered acts on the end of a period of lingering.
func (c *Conn) lingered(now time.Duration) {
	flow := deadlines.Outflow{Taken: c.taken(), Kept: sock.Unacked(c.end.FD)}
	switch c.extras.clock.Lingered(now, c.is(finished), flow) {
	case deadlines.Another:
		c.linger()
	case deadlines.Over:
		c.set(broken)
	case deadlines.Cut:
		c.set(reset | broken)
	case deadlines.TooSlow:
		c.failWrite(c.opError("close", os.ErrDeadlineExceeded))
	}
}

// drop counts bytes that arrive after Close.
func (c *Conn) drop(n int) {
	if c.is(closing) && !c.is(broken) && c.more().clock.Drop(n) {
		c.reading.set(held | unseen) // nothing clears these after Close
	}
}

// flooded reports whether the peer has sent too much after Close.
func (c *Conn) flooded() bool { return c.extras != nil && c.extras.clock.Flooded() }

// endFlood resets a flooded connection once the peer has acknowledged all of its output. The kernel
// has all of that.
func (c *Conn) endFlood() {
	switch k := &c.extras.clock; {
	case !k.LookDue():
	case sock.Acknowledged(c.end.FD):
		c.set(reset | broken)
	default:
		k.LookLater(c.group.rt.Now())
	}
}
