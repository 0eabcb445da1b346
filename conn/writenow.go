package conn

import "syscall"

// atOnce is the size from which on a write is sent before it returns: a copy of so
// much costs more than the system call that it would save.
const atOnce = 16 << 10

// writeNow sends what it can of a large write, and of what is queued ahead of it,
// straight from where it lies, unless a send is in flight. It returns how much of p the
// kernel has taken; what is left is to be queued. An error ends the connection, since the
// kernel tells it once.
func (c *Conn) writeNow(p []byte) int {
	if !c.is(opened) || c.is(layered) || c.inFlight > 0 {
		return 0
	}
	if memory, files := c.pending(); memory > 0 || files > 0 || c.is(awaiting) {
		return 0
	}
	c.mu.Lock()
	if in := &c.inbox; in.direct || in.mail != nil && in.flight != nil { // somebody has begun to send meanwhile
		c.mu.Unlock()
		return 0
	}
	c.inbox.direct = true
	c.mu.Unlock()
	n, errno := c.group.sendNow(c.end.FD, c.queued, p)
	switch errno {
	case 0:
	case syscall.EAGAIN, syscall.EINTR, syscall.ENOBUFS:
		n = 0
	default:
		c.failWrite(c.sysError("write", "send", errno))
		n = 0
	}
	c.mu.Lock()
	c.inbox.direct = false
	c.inbox.taken += uint64(n)
	c.mu.Unlock()
	if n == 0 {
		return 0
	}
	c.driver.sent = true
	if left := len(c.queued) - n; left > 0 {
		c.queued = c.queued[:copy(c.queued, c.queued[n:])]
		return 0
	}
	n -= len(c.queued)
	if n < len(p) {
		c.queued = c.queued[:0] // not given back: p may lie in it (see AvailableBuffer)
		return n
	}
	c.driver.buffers.Put(c.queued)
	c.queued = nil
	return n
}
