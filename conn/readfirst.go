package conn

import "syscall"

// readFirst reads what has come with an accepted connection, in its first run: who connects mostly has something to
// say, which is there by the time of that. It is answered in the same run, and neither a poll nor, on epoll, an event is
// needed for it. The buffer is no larger than what a handler's leftovers would lie in anyway; if it is filled, the rest
// comes by the reactor. With MaxMemory, which may have to hold the bytes back, all does.
func (c *Conn) readFirst() {
	if !c.group.readsFirst || !c.is(counted) || c.is(waiting|closing|broken|deaf|spliced|layered) {
		return
	}
	room := c.driver.buffers.get(smallBuffer)
	room = room[:min(cap(room), c.group.cfg.MaxRead)]
	n, errno := c.group.cfg.Reactor.TryRecv(c.fd, room)
	switch {
	case errno == 0 && n > 0:
		c.driver.news, c.driver.drained = true, n < len(room) && c.overTCP()
		c.cameDirectly(n)
		c.in.own = room[:0]
		c.in.fill(n)
		c.offer()
		if len(c.queued) > 0 && !c.is(broken|spliced) {
			c.writeNow(nil) // on io_uring an operation for it would cost more
		}
		return
	case errno == syscall.EAGAIN:
		c.driver.drained = true
	default:
		c.driver.news = true
		c.recvEnd(errno)
	}
	c.driver.buffers.put(room)
}
