package conn

import "syscall"

// A connection on which much comes at a time is read by its task, when the reactor says
// that there is something: into memory that the worker has just used and is still in
// the cache, right before the handler looks at it. What the reactor receives lies in
// memory that all its connections pass through, in pieces of 64 KiB at most. With io_uring, for messages of 16 KiB most of that
// has left the cache again when their handlers run. Little messages cost less the
// reactor's way: no system call of their own; on the other backends, which make the same call
// themselves, only what is more than a piece of the reactor's is cheaper this way: fewer
// calls, and what is passed on leaves as fewer, fuller packets.
//
// The memory is the worker's, so what it takes does not grow with the connections. What is
// read at once is bounded by what may be left unread, and by what may be unsent if
// all of it is echoed.
//
// go run ./bench -workloads echo16k,stream-echo measures it.

const (
	muchAtOnce  = 32 << 10  // in a run: two of these in a row and the task reads itself
	lessAtOnce  = 8 << 10   // the same on io_uring
	scratchSize = 256 << 10 // most that is read at once
)

// gauge decides, after a run in which so many bytes came from the reactor, who receives
// from now on.
func (c *Conn) gauge(came int) {
	switch {
	case came < c.group.much:
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
	d, cfg, unread := c.driver, &c.group.cfg, len(c.in.unread)
	little := c.group.much / 2
	var room []byte
	few := unread <= scratchSize/4 // few enough for a copy
	if few {
		if d.scratch == nil {
			d.scratch = make([]byte, scratchSize)
		}
		room = d.scratch[copy(d.scratch, c.in.unread):]
	} else {
		room = c.in.space(d, scratchSize/4)
	}
	most := min(cfg.MaxRead-unread, cfg.HighWater-c.Unsent())
	room = room[:min(len(room), max(most, little))]
	n, errno := cfg.Reactor.TryRecv(c.fd, room)
	switch {
	case errno == syscall.EAGAIN:
		return
	case errno != 0 || n == 0:
		c.clear(direct)
		c.recvEnd(errno)
		return
	}
	c.cameDirectly(n)
	if few {
		c.in.lend(d, unread+n)
	} else {
		c.in.fill(n)
	}
	c.offer()
	switch {
	case n >= little:
		c.set(much)
	case c.is(much):
		c.clear(much)
	default:
		c.clear(direct)
	}
}
