package conn

import "github.com/suiro-go/suiro/reactor"

// atOnce is the size from which on a write is sent before it returns: a copy of so
// much costs more than the system call that it would save.
const atOnce = 16 << 10

// writeNow sends what it can of a large write, and of what is queued ahead of it,
// straight from where it lies, unless a send is in flight. It returns how much of p the
// kernel has taken; what is left is to be queued. An error is left to the send of that.
func (c *Conn) writeNow(p []byte) int {
	if !c.is(opened) || c.inFlight > 0 { // with none in flight, none begins but by this task
		return 0
	}
	n, errno := reactor.TrySend(c.fd, c.queued, p)
	if errno != 0 {
		return 0
	}
	c.mu.Lock()
	c.inbox.taken += uint64(n)
	c.mu.Unlock()
	if left := len(c.queued) - n; left > 0 {
		c.queued = c.queued[:copy(c.queued, c.queued[n:])]
		return 0
	}
	n -= len(c.queued)
	c.driver.buffers.put(c.queued)
	c.queued = nil
	return n
}
