package conn

import (
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
)

// A small chunk that arrives on a splice leaves at once. The call that delivers the completion
// enters the connection's task for that (sched.Context.Enter) instead of waking it. Nearly all
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

// throughMost is the size from which on a chunk does not leave so. It is at most the size that
// gauge, and bulk, count as much.
const throughMost = 8 << 10

// through sends a completion's bytes by the splice's other end. It reports whether that was all;
// else the rest is left in the completion. The connection's task is entered.
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

// passEntered is passNow with the other end's task entered as well. So nobody else sends, nor
// closes the descriptor. The notes of that end's last run are true, except that a send in flight
// may be over. No lock is needed.
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

// passedIn is how many bytes arrived on the connection and went through, which its inbox does not
// count. The caller holds the mutex or is the task.
func (c *Conn) passedIn() uint64 {
	if c.extras == nil || c.extras.relay == nil {
		return 0
	}
	return c.extras.relay.there().passed.Load()
}

// passedOut is how many bytes went out in this way, if the inbox does not count them at the end of
// the send.
func (c *Conn) passedOut() uint64 {
	if c.group.completes || c.extras == nil || c.extras.relay == nil {
		return 0
	}
	return c.extras.relay.here().passed.Load()
}
