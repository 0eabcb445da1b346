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

// Outflow is how far the output is. Any goroutine may call it while the descriptor stays open.
func (c *Conn) Outflow() deadlines.Outflow { return outflow(c, c.Inbox.Right.Sent()) }

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
		switch {
		case !k.Inactive(now, c.Outflow()):
		case heldBack(c):
			k.Came(now)
		default:
			c.idled()
		}
	}
}

// heldBack reports whether the peer is not idle although nothing comes or goes: this side does not
// take what it has sent, or the other peer of a splice still takes bytes.
func heldBack(c *Conn) bool {
	switch {
	case c.Is(Closing):
		return false
	case c.Spliced() != nil:
		return c.Handler.(Passer).OtherTakes()
	case c.Reading.Is(UserPaused|starved) && !c.Reading.Is(Ended|ReadClosed):
		r := consumerOf(c).Readers()
		return len(c.In.Unread) > 0 || r != nil && r.HasUnread() || !c.Reading.Is(receiving|polling) && !sock.NothingPending(c.Endpoint.FD)
	}
	return false
}

// peersTurn begins the idle time anew for a peer that was held back.
func peersTurn(c *Conn) {
	if c.Extras != nil && c.Extras.Clock.Idles() {
		c.Extras.Clock.Came(c.Group.Runtime.Now())
	}
}

// idled ends a connection whose peer was idle for too long.
func (c *Conn) idled() {
	err := c.OpError("idle", os.ErrDeadlineExceeded)
	if c.Spliced() != nil {
		c.CloseByReset(err)
		return
	}
	c.Conclude(err)
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

// linger starts a period of Config.LingerTimeout.
func (k *timing) linger(c *Conn) {
	now := c.Group.Runtime.Now() // not cx.Now: the handler may have taken long
	k.Linger(now, cmp.Or(k.Patience, c.Group.Config.LingerTimeout))
	if c.Unsent() > 0 || k.EndsByReset() {
		k.Parting(c.Outflow())
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

// lingerRest starts a period of Config.LingerTimeout for the input of a connection with SendFailed:
// a splice may wait for the other peer.
func (k *timing) lingerRest(c *Conn) {
	k.Linger(c.Group.Runtime.Now(), cmp.Or(k.Patience, c.Group.Config.LingerTimeout))
	k.Parting(inflow(c))
}

// inflow is how much has been received, as an Outflow has it for the output.
func inflow(c *Conn) deadlines.Outflow {
	_, received := c.arrived()
	return deadlines.Outflow{Taken: received}
}

// lingered acts on the end of a period of lingering.
func (k *timing) lingered(c *Conn, now time.Duration) {
	if c.Is(SendFailed) {
		if k.Lingered(now, false, inflow(c)) == deadlines.Another {
			k.lingerRest(c)
		} else {
			c.Set(Broken)
		}
		return
	}
	flow := deadlines.Outflow{Taken: c.Inbox.Right.Sent(), Kept: sock.Unacked(c.Endpoint.FD)}
	if !c.Is(Closing) { // the peer has kept bytes that had arrived from being offered: see arrival.check
		if k.Lingered(now, false, flow) != deadlines.Another && c.Reading.Is(Paused) {
			_ = c.Close()
		}
		return
	}
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

// resetAcknowledged resets a connection that is to end so, once the peer has acknowledged all of
// its output. The kernel has all of that.
func (k *timing) resetAcknowledged(c *Conn) {
	switch {
	case !k.EndsByReset() || !k.LookDue():
	case sock.Acknowledged(c.Endpoint.FD):
		c.Set(Reset | Broken)
	default:
		k.LookLater(c.Group.Runtime.Now())
	}
}
