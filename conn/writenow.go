package conn

import (
	"syscall"

	"github.com/suiro-go/suiro/internal/sending"
	"github.com/suiro-go/suiro/internal/sock"
)

// atOnce is the size from which on a write is sent before it returns. A copy of that many bytes
// costs more than the system call that it would save.
const atOnce = 16 << 10

// writeNow sends a large write, and the queue ahead of it, straight from where they lie, as far as
// the socket takes them. It does nothing while a send is in flight. It returns how much of p the
// kernel has taken; the caller queues the rest. An error ends the connection, since the kernel
// reports it once.
func (c *Conn) writeNow(p []byte) int {
	if !c.is(opened) || c.filter() != nil || c.inFlight > 0 {
		return 0
	}
	if memory, files := c.pending(); memory > 0 || files > 0 || c.is(awaiting) {
		return 0
	}
	c.mu.Lock()
	mine := c.inbox.right.Take(sending.Call, false)
	c.mu.Unlock()
	if !mine { // somebody has begun to send meanwhile
		return 0
	}
	n, errno := c.group.sendNow(c.end.FD, c.out.Queued, p)
	switch errno {
	case 0:
	case syscall.EAGAIN, syscall.EINTR, syscall.ENOBUFS:
		n = 0
	default:
		c.failWrite(c.sysError("write", "send", errno))
		n = 0
	}
	c.mu.Lock()
	waiter := c.inbox.roomFor(c.inbox.right.GiveUp(n, 0)) // the task need not be woken: it runs
	c.mu.Unlock()
	if waiter != nil {
		waiter.MadeRoom()
	}
	if n == 0 {
		return 0
	}
	if left := len(c.out.Queued) - n; left > 0 {
		c.out.Queued = c.out.Queued[:copy(c.out.Queued, c.out.Queued[n:])]
		return 0
	}
	n -= len(c.out.Queued)
	if n < len(p) {
		c.out.Queued = c.out.Queued[:0] // not given back: p may lie in it (see AvailableBuffer)
		return n
	}
	c.driver.buffers.Put(c.out.Queued)
	c.out.Queued = nil
	return n
}

// sendNow sends as much of first and second as the socket takes, in whole segments, as
// reactor.Config.TrySend does. An error that is not temporary may come with some bytes.
func (g *Group) sendNow(fd int, first, second []byte) (sent int, errno syscall.Errno) {
	for calls := sock.CallsOf(fd, first, second); calls.More(); {
		n, errno := g.cfg.Reactor.TrySend(fd, calls.First, calls.Second)
		switch {
		case errno == 0:
		case sent > 0 && passes(errno):
			return sent, 0
		default:
			return sent, errno
		}
		sent += n
		calls.Took(n)
	}
	return sent, 0
}
