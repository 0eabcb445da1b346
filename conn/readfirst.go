package conn

import (
	"syscall"

	"github.com/suiro-go/suiro/internal/bufs"
)

// readFirst reads data that arrived with an accepted connection, in its first run. Most clients
// speak first, and their bytes are there by then. The same run answers them, so neither a poll nor,
// on epoll, an event is needed. readFirst reads at most a small buffer full; the rest is received
// later. With MaxMemory, which may have to hold the bytes back, it does nothing.
func (c *Conn) readFirst() {
	if !c.group.readsFirst || c.is(outbound|closing|broken) || c.reading.is(waiting|deaf) || c.filter() != nil || c.consumer().paces() {
		return
	}
	room := c.in.Borrow(&c.driver.scratch, bufs.Small)
	room = room[:min(len(room), c.group.cfg.MaxRead)]
	n, errno := c.group.cfg.Reactor.TryRecv(c.end.FD, room)
	switch {
	case errno == syscall.EAGAIN:
	case errno != 0 || n == 0:
		c.driver.news = true
		c.recvEnd(errno)
	default:
		c.driver.news = true
		c.cameDirectly(n)
		c.in.Fill(&c.driver.buffers, &c.driver.scratch, n)
		c.offer()
		if len(c.out.Queued) > 0 && !c.is(broken) {
			c.writeNow(nil) // on io_uring an operation for it would cost more
		}
	}
}
