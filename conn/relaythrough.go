package conn

import (
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
)

// What comes in on a splice and is little leaves as it comes: by the call that delivers the completion, which enters the
// connection's task for that (sched.Context.Enter) instead of waking it. Through a proxy nearly all messages go this way.
//
// It is what a run of the task with nothing else to do would do, and only that: whatever the task has to do
// besides, it has been woken for, and runs after. Nothing in the inbox comes before: what was delivered before has
// been collected by a run that is over, else the task would not wait (it wakes itself if it puts chunks back); and
// completions of one reactor are delivered one after the other, by its own worker alone where this is done.
//
// A poll that brings more than its worker would keep for itself goes the other way, so that others can take a share.

// throughMost is the least that does not leave so. It is no more than what is much for gauge, and for bulk.
const throughMost = 8 << 10

// through has what a completion brings leave by the splice's other end. It reports whether that was all; else
// the rest is left in the completion. The connection's task is entered.
func (c *Conn) through(d *driver, e *reactor.Completion) bool {
	const ending, busy = closing | broken | mute, deaf | ended | waiting | unseen | direct | stopping | much
	r := c.spliced()
	if c.flags&(opened|ending) != opened || c.reading&(receiving|busy) != receiving || r == nil || c.backlog != nil || e.Res >= throughMost || c.group.bounded() {
		return false
	}
	to := r.there()
	if !to.open.Load() {
		return false
	}
	c.driver = d
	p := e.Buf.Bytes
	n := 0
	if c.group.completes {
		n = r.passNow(c, to, p)
		to.passed.Add(uint64(n))
	} else {
		n = r.passEntered(c, to, p)
	}
	if n == 0 {
		return false
	}
	if c.group.completes {
		c.mu.Lock()
		c.doubt(d)
		c.mu.Unlock()
	}
	c.extras.clock.Came(d.Cx.Now())
	if n < len(p) {
		e.Buf.Bytes, e.Res = p[n:], e.Res-n
		return false
	}
	c.home.R.Release(e.Buf)
	r.bulk.little()
	return true
}

// passEntered is passNow with the other end's task entered as well: so nobody else sends, nor closes the descriptor, and what
// that end's last run has noted is true, but that a send in flight may be over. No lock is needed.
func (r *relay) passEntered(c *Conn, to *end, p []byte) int {
	b, cx := to.conn, c.driver.Cx
	if !cx.Enter(&b.task) {
		return 0
	}
	defer cx.Leave(&b.task)
	if to.unsent > 0 && b.flying() || !to.open.Load() {
		return 0
	}
	to.unsent = 0
	n, errno := c.group.sendNow(b.end.FD, nil, p)
	if errno != 0 {
		if passes(errno) {
			return 0
		}
		r.refused(c, to, sock.Error("send", errno))
		return len(p)
	}
	to.passed.Add(uint64(n))
	return n
}

// flying reports whether something is being sent, or waits for that.
func (c *Conn) flying() bool { return !c.inbox.right.Free() }

// passedIn is how much has come in on the connection and gone through, which its inbox does not count. The mutex is held, or it is the task that
// asks.
func (c *Conn) passedIn() uint64 {
	if c.extras == nil || c.extras.relay == nil {
		return 0
	}
	return c.extras.relay.there().passed.Load()
}

// passedOut is how much has gone out so, where its inbox does not count that, with the end of the send.
func (c *Conn) passedOut() uint64 {
	if c.group.completes || c.extras == nil || c.extras.relay == nil {
		return 0
	}
	return c.extras.relay.here().passed.Load()
}
