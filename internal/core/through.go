package core

import "github.com/suiro-go/suiro/reactor"

// A small chunk that arrives on a splice leaves at once. The call that delivers the completion
// enters the connection's task for that (package inline) instead of waking it. Nearly all
// messages through a proxy go this way.
//
// It does only what a run of the task with nothing else to do would do. For anything else the task
// has been woken, and runs after. Nothing in the inbox comes before the chunk. Earlier deliveries
// have been collected by a run that is over, else the task would not wait: it wakes itself if it
// puts chunks back. Completions of one reactor are delivered one after the other, here by its own
// worker alone.
//
// If a poll brings more than its worker would keep for itself, the tasks are woken, so that other
// workers can take a share.

// throughMost is the size from which on a chunk does not leave so. A smaller one is little to the
// policy of splices, and does not change the state in which nothing much has arrived.
const throughMost = 8 << 10

// through sends a completion's bytes by the splice's other end, if c is spliced. It reports whether
// that was all; else the rest is left in the completion. The connection's task is entered.
func through(c *Conn, d *Driver, e *reactor.Completion) bool {
	const ending, busy = Closing | Broken | WriteClosed, ReadClosed | Ended | waiting | Unoffered | stopping
	if c.flags&(Opened|ending) != Opened || c.Reading&(receiving|busy) != receiving || c.Reading.State() != 0 || c.Spliced() == nil || c.pendingWork != nil || e.Res >= throughMost || c.Group.Bounded() {
		return false
	}
	c.Driver = d
	p := e.Buf.Bytes
	n := c.Handler.(Passer).PassOn(c, p)
	if n == 0 {
		return false
	}
	if c.Group.Completes {
		c.doubt(d)
	}
	c.Extras.Clock.Came(d.Cx.Now())
	if n < len(p) {
		e.Buf.Bytes, e.Res = p[n:], e.Res-n
		return false
	}
	c.Home.R.Release(e.Buf)
	return true
}
