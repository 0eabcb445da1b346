package conn

import (
	"net"
	"os"
	"time"

	"github.com/suiro-go/suiro/internal/alarm"
	"github.com/suiro-go/suiro/internal/saturate"
	"github.com/suiro-go/suiro/internal/sock"
)

// A clock is a connection's deadlines. One alarm serves them all.
//
// Times are the runtime's; 0 means none.
type clock struct {
	alarm   alarm.Alarm
	connect time.Duration // until when the connection must be established
	attempt time.Duration // when its race has to go on
	read    time.Duration
	write   time.Duration
	linger  time.Duration
	parting outflow // when linger was set

	farewell time.Duration // while the group drains: when linger is over altogether
	heard    int           // dropped as of when linger was set

	patience time.Duration // how long Close waits; 0: Config.Linger; negative: it resets
	dropped  int           // bytes that arrived after Close
	look     time.Duration // when endFlood looks again
	pause    time.Duration // how long it waited the last time

	idle   time.Duration // how long nothing may come or go
	active time.Duration // when something last came, or was seen to have gone
	gone   outflow       // as of then

	stalled time.Duration // when what is unsent was last seen to get less; 0: nothing is unsent
	left    outflow       // as of then
}

// An outflow says how far what was written has got at one moment.
type outflow struct {
	taken uint64 // bytes that the kernel has taken
	kept  int    // and of them those which it still keeps for the peer
}

// outflow is after the kernel has taken that much. It costs a system call once something was sent.
func (c *Conn) outflow(taken uint64) outflow {
	if taken == 0 {
		return outflow{}
	}
	return outflow{taken, sock.Unacked(c.end.FD)}
}

// movedSince reports whether the peer has taken something since. That the kernel has counts as
// well, since it says so only when there is room again: what else it has in hand, for an
// operation that has not ended, can make kept larger in the meantime, but not smaller.
func (o outflow) movedSince(before outflow) bool {
	return o.taken != before.taken || o.kept < before.kept
}

// SetReadDeadline has OnDeadline called at t, once, whatever has been received
// by then: a handler that is content sets a later time. A zero t means never.
// A t in the past means now. The error matches net.ErrClosed, and errors.ErrUnsupported for
// the connection of a Stream, which has deadlines of its own.
func (c *Conn) SetReadDeadline(t time.Time) error {
	if c.ofStream() && !t.IsZero() {
		return c.opError("set", errOfStream)
	}
	return c.setDeadline(t, func(k *clock, at time.Duration) { k.read = at })
}

// SetWriteDeadline has writes fail from t on with an error that matches
// os.ErrDeadlineExceeded. If anything is unsent then, the connection is reset and
// ends with that error. A zero t means never; a later deadline lets writes succeed
// again. Handle.Send does not fail: what comes by it after t ends the connection so, too.
// The error matches net.ErrClosed.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.clear(overdue)
	err := c.setDeadline(t, func(k *clock, at time.Duration) { k.write = at })
	if err == nil && !t.IsZero() && c.extras.clock.write <= c.group.rt.Now() {
		c.writeOverdue()
	}
	return err
}

// writeOverdue is what happens at the write deadline.
func (c *Conn) writeOverdue() {
	c.extras.clock.write = 0
	c.set(overdue)
	if c.Unsent() > 0 {
		c.stuck()
	}
}

// SetDeadline is SetReadDeadline and SetWriteDeadline.
func (c *Conn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

func (c *Conn) setDeadline(t time.Time, set func(*clock, time.Duration)) error {
	switch {
	case c.is(closing | broken):
		return c.opError("set", net.ErrClosed)
	case !t.IsZero():
		set(&c.more().clock, max(1, c.group.rt.At(t)))
	case c.extras != nil:
		set(&c.extras.clock, 0)
	}
	return nil
}

// SetIdleTimeout ends the connection, with an error that matches
// os.ErrDeadlineExceeded, when for that long nothing has been received and the peer
// has taken nothing. 0: never. It counts from now on. The error matches
// net.ErrClosed.
func (c *Conn) SetIdleTimeout(d time.Duration) error {
	switch {
	case c.is(closing | broken):
		return c.opError("set", net.ErrClosed)
	case d > 0:
		c.more().clock.idle = d
		c.seenActive(c.group.rt.Now())
	case c.extras != nil:
		c.extras.clock.idle = 0
	}
	return nil
}

// SetLinger says how long Close waits for the peer, instead of Config.Linger. 0: not at
// all: what was written and not sent is dropped, and the peer sees a reset, as with that of
// a *net.TCPConn. Negative: Config.Linger again. The error matches net.ErrClosed.
func (c *Conn) SetLinger(d time.Duration) error {
	switch {
	case c.is(closing | broken):
		return c.opError("set", net.ErrClosed)
	case d == 0:
		c.more().clock.patience = -1
	case d > 0:
		c.more().clock.patience = d
	case c.extras != nil:
		c.extras.clock.patience = 0
	}
	return nil
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

func (c *Conn) seenActive(now time.Duration) {
	k := &c.extras.clock
	k.active, k.gone = now, c.outflow(c.taken())
}

// next is the earliest deadline, or 0.
func (k *clock) next(stall time.Duration) time.Duration {
	var idle, stalled time.Duration
	if k.idle != 0 {
		idle = saturate.Add(k.active, k.idle)
	}
	if k.stalled != 0 {
		stalled = saturate.Add(k.stalled, stall)
	}
	return alarm.Earliest(k.connect, k.attempt, k.read, k.write, k.linger, k.look, idle, stalled)
}

// checkClock acts on the deadlines that have passed.
func (c *Conn) checkClock() {
	k := &c.extras.clock
	if !k.alarm.Rang() {
		return
	}
	now := c.group.rt.Now() // not cx.Now: another worker may have fired it since this one's tick began
	due := func(at time.Duration) bool { return at != 0 && now >= at && !c.is(broken) }
	if due(k.connect) {
		c.fail(c.opError("dial", os.ErrDeadlineExceeded))
	}
	if due(k.linger) {
		c.lingered()
	}
	if due(k.look) {
		k.look = 0
	}
	if due(k.read) && !c.is(closing) {
		k.read = 0
		c.check(c.handler.OnDeadline(c))
		c.detach()
	}
	if due(k.write) && !c.is(closing) {
		c.writeOverdue()
	}
	if k.stalled != 0 && due(saturate.Add(k.stalled, c.group.cfg.WriteTimeout)) && !c.is(closing) {
		c.checkStall(now)
	}
	if k.idle != 0 && due(saturate.Add(k.active, k.idle)) && !c.is(closing) {
		if c.outflow(c.taken()).movedSince(k.gone) {
			c.seenActive(now)
		} else {
			c.conclude(c.opError("idle", os.ErrDeadlineExceeded))
		}
	}
}

// stuck ends a connection whose peer takes too little.
func (c *Conn) stuck() { c.failWrite(c.opError("write", os.ErrDeadlineExceeded)) }

// checkStall ends the connection unless the peer has taken something since.
func (c *Conn) checkStall(now time.Duration) {
	k := &c.extras.clock
	unsent, taken := c.progress()
	switch flow := c.outflow(taken); {
	case unsent == 0:
		k.stalled = 0
	case flow.movedSince(k.left):
		k.stalled, k.left = now, flow
	default:
		c.stuck()
	}
}

// armClock sees to it that the task runs by the earliest deadline.
func (c *Conn) armClock() {
	if c.extras == nil {
		return
	}
	k, stall := &c.extras.clock, c.group.cfg.WriteTimeout
	if stall > 0 && c.is(opened) {
		switch unsent, taken := c.progress(); {
		case unsent == 0 || c.is(closing): // then it is linger that counts
			k.stalled = 0
		case k.stalled == 0:
			k.stalled, k.left = max(1, c.group.rt.Now()), c.outflow(taken) // a virtual clock begins with 0
		}
	}
	k.alarm.Set(c.group.rt, k.next(stall), c.task.Waker())
}
