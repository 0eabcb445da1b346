package conn

import "syscall"

// A connection on which much comes at a time is read by its task, when the reactor says
// that there is something: into a buffer that the worker has just used and is still in
// the cache, right before the handler looks at it. What the reactor receives lies in
// memory that all its connections pass through, and for messages of 16 KiB most of that
// has left the cache again when their handlers run. Little messages cost less the
// reactor's way: no system call of their own.
//
// go run ./bench -workloads echo16k,stream-echo measures it.

const (
	muchAtOnce   = 8 << 10 // in a run: two of these in a row and the task reads itself
	littleAtOnce = 4 << 10 // in a read: two of these in a row and it does not any more
)

// gauge decides, after a run in which so many bytes came from the reactor, who receives
// from now on.
func (c *Conn) gauge(came int) {
	switch {
	case came < muchAtOnce:
		if came > 0 {
			c.clear(much)
		}
	case !c.is(much):
		c.set(much)
	case !c.is(closing | broken | deaf | ended | spliced | layered):
		c.set(direct) // settle ends the receive
	}
}

// readNow reads what has come, as far as others are not kept waiting, and has the
// handler look at it. The reactor has said that there is something, so nothing is in
// flight that receives.
func (c *Conn) readNow() {
	for reads := 0; reads < 2 && !c.is(waiting|closing|broken|deaf|ended); reads++ {
		room := c.in.room(c.driver)
		room = room[:min(len(room), max(littleAtOnce, c.group.cfg.MaxRead-len(c.in.unread)))]
		n, errno := c.group.cfg.Reactor.TryRecv(c.fd, room)
		switch {
		case errno == syscall.EAGAIN:
			return
		case errno != 0 || n == 0:
			c.clear(direct)
			c.recvEnd(errno)
			return
		}
		c.cameDirectly(n)
		c.in.fill(n)
		c.offer()
		switch {
		case n >= littleAtOnce:
			c.set(much)
		case c.is(much):
			c.clear(much)
		default:
			c.clear(direct)
		}
		if n < len(room) {
			return // that was all
		}
	}
}
