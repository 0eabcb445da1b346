package core

import (
	"cmp"
	"os"
	"time"

	"github.com/suiro-go/suiro/internal/alarm"
	"github.com/suiro-go/suiro/internal/deadlines"
	"github.com/suiro-go/suiro/internal/sock"
)

// timing is the deadlines of a connection, and the alarm for the earliest of them. It lies in the
// extras. The task alone has it.
type timing struct {
	deadlines.Clock
	alarm alarm.Alarm
}

// outflow is how far a connection's output is, after the kernel has taken that much. It costs a
// system call once something was sent.
func outflow(c *Conn, taken uint64) deadlines.Outflow {
	if taken == 0 {
		return deadlines.Outflow{}
	}
	return deadlines.Outflow{Taken: taken, Kept: sock.Unacked(c.Endpoint.FD)}
}

// startClock sets the deadlines that the configuration has for every connection,
// when it is established.
func startClock(c *Conn) {
	if d := c.Group.Config.IdleTimeout; d > 0 {
		_ = c.SetIdleTimeout(d)
	}
	if c.Group.Config.WriteTimeout > 0 {
		c.More()
	}
}

// armClock arms the alarm of a connection that has one.
func armClock(c *Conn) {
	if c.Extras != nil {
		c.Extras.Clock.arm(c)
	}
}

// arm sees to it that the task runs by the earliest deadline.
func (k *timing) arm(c *Conn) {
	if limit := c.Group.Config.WriteTimeout; limit > 0 && c.Is(Opened) {
		switch unsent, taken := c.progress(); {
		case unsent == 0 || c.Is(Closing): // then the time to linger counts
			k.Set(deadlines.Stall, 0)
		case !k.Stalls():
			k.Unsent(c.Group.Runtime.Now(), limit, outflow(c, taken))
		}
	}
	k.alarm.Set(c.Group.Runtime, k.Next(), c.Task.Waker())
}

// OpIdle is the operation that an idle time-out ends.
const OpIdle = "idle"

// check acts on the deadlines that have passed.
func (k *timing) check(c *Conn) {
	if !k.alarm.Rang() {
		return
	}
	// not cx.Now: another worker may have fired it since this one's tick began
	now := c.Group.Runtime.Now()
	for what := range k.Due(now) {
		if c.Is(Broken) {
			return
		}
		k.meet(c, what, now)
	}
}

// meet acts on one deadline.
func (k *timing) meet(c *Conn, what deadlines.Kind, now time.Duration) {
	switch what {
	case deadlines.Connect:
		c.Fail(c.OpError("dial", os.ErrDeadlineExceeded))
	case deadlines.Linger:
		k.lingered(c, now)
	case deadlines.Read:
		c.Check(c.Group.Events.OnDeadline(c))
		c.detach()
	case deadlines.Write:
		writeOverdue(c)
	case deadlines.Stall:
		unsent, taken := c.progress()
		if unsent > 0 && !c.Is(Closing) && k.Stuck(now, c.Group.Config.WriteTimeout, outflow(c, taken)) {
			stuck(c)
		}
	case deadlines.Idle:
		if k.Inactive(now, outflow(c, c.Inbox.Right.Sent())) {
			c.Conclude(c.OpError(OpIdle, os.ErrDeadlineExceeded))
		}
	}
}

// writeOverdue acts on the write deadline.
func writeOverdue(c *Conn) {
	c.Set(overdue)
	if c.Unsent() > 0 {
		stuck(c)
	}
}

// stuck ends a connection whose peer takes too little.
func stuck(c *Conn) { c.FailWrite(c.OpError("write", os.ErrDeadlineExceeded)) }

// linger starts a period of Config.Linger.
func (k *timing) linger(c *Conn) {
	now := c.Group.Runtime.Now() // not cx.Now: the handler may have taken long
	k.Linger(now, cmp.Or(k.Patience, c.Group.Config.Linger))
	if c.Unsent() > 0 || k.Flooded() {
		k.Parting(outflow(c, c.Inbox.Right.Sent()))
	}
	k.shorten(c)
}

// shorten makes a closed connection that is to end look early whether the peer has taken
// everything.
func (k *timing) shorten(c *Conn) {
	if c.Is(Finished) && c.Draining() {
		k.Shorten(c.Group.Runtime.Now())
	}
}

// lingered acts on the end of a period of lingering.
func (k *timing) lingered(c *Conn, now time.Duration) {
	flow := deadlines.Outflow{Taken: c.Inbox.Right.Sent(), Kept: sock.Unacked(c.Endpoint.FD)}
	switch k.Lingered(now, c.Is(Finished), flow) {
	case deadlines.Another:
		k.linger(c)
	case deadlines.Over:
		c.Set(Broken)
	case deadlines.Cut:
		c.Set(Reset | Broken)
	case deadlines.TooSlow:
		c.FailWrite(c.OpError("close", os.ErrDeadlineExceeded))
	}
}

// endFlood resets a connection whose peer has sent too much after Close, once the peer has
// acknowledged all of its output. The kernel has all of that.
func (k *timing) endFlood(c *Conn) {
	switch {
	case !k.Flooded() || !k.LookDue():
	case sock.Acknowledged(c.Endpoint.FD):
		c.Set(Reset | Broken)
	default:
		k.LookLater(c.Group.Runtime.Now())
	}
}
