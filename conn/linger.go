package conn

import (
	"cmp"
	"os"
	"time"

	"github.com/suiro-go/suiro/internal/saturate"
	"github.com/suiro-go/suiro/internal/sock"
)

// maxDropped is how many bytes that arrive after Close are dropped: what an honest peer
// may have sent before it sees the end. More than that would only waste what both ends
// have; the reset that follows waits until the peer has acknowledged all that was written.
const maxDropped = 2 << 20

// firstLook is when a flooded connection first looks again whether that is so; each next
// wait is twice as long.
const firstLook = time.Millisecond

// linger starts a period of Config.Linger.
func (c *Conn) linger() {
	k := &c.more().clock
	k.linger = saturate.Add(c.group.rt.Now(), cmp.Or(k.patience, c.group.cfg.Linger)) // not cx.Now: the handler may have taken long
	if c.Unsent() > 0 || c.flooded() {
		k.parting = c.outflow(c.taken())
	}
	k.farewell = 0
	c.shortenLinger()
}

// lingered is the end of such a period: the next one begins if the peer has
// taken some of what was written. One that took all but does not end its side
// has cost enough; the kernel goes on to deliver what it has, unless the peer has sent
// so much that there is a reset.
func (c *Conn) lingered() {
	k := &c.extras.clock
	k.linger = 0
	switch {
	case k.farewell != 0 && c.group.rt.Now() < k.farewell && c.is(finished) && (c.flooded() || !c.silent()):
		c.shortenLinger()
	case c.is(finished) && !c.flooded():
		c.set(broken)
	case c.outflow(c.taken()).movedSince(k.parting):
		c.linger()
	case c.is(finished):
		c.set(reset | broken)
	default:
		c.set(reset)
		c.fail(c.opError("close", os.ErrDeadlineExceeded))
	}
}

// drop counts what has arrived after Close. With too much of it receiving ends, so that
// the kernel's flow control holds the peer back.
func (c *Conn) drop(n int) {
	if !c.is(closing) || c.is(broken) {
		return
	}
	c.more().clock.dropped += n
	if c.flooded() {
		c.set(held | unseen) // nothing clears these after Close
	}
}

// flooded reports whether the peer has sent too much after Close.
func (c *Conn) flooded() bool { return c.extras != nil && c.extras.clock.dropped > maxDropped }

// endFlood resets a flooded connection, all of whose output the kernel has, once the peer
// has acknowledged that: a reset would discard what it has not. Nothing tells when that is
// so, and so it is asked from time to time, until Config.Linger passes without progress.
func (c *Conn) endFlood() {
	k := &c.extras.clock
	switch {
	case k.look != 0: // not yet
	case sock.Acknowledged(c.end.FD):
		c.set(reset | broken)
	default:
		k.pause = max(firstLook, 2*k.pause)
		k.look = saturate.Add(c.group.rt.Now(), k.pause)
	}
}
