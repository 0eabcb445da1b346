package conn

import (
	"math"
	"syscall"

	"github.com/suiro-go/suiro/internal/bufs"
	"github.com/suiro-go/suiro/internal/sock"
)

// The task of a connection on which much data arrives at a time reads itself, once the reactor
// reports that there is something. This is not done on Windows. The memory is the worker's: it has
// just been used and is still in the cache, right before the handler looks at it.
//
// A reactor receives pieces of at most 64 KiB. Larger reads mean fewer calls. A handler that
// forwards its input then makes larger sends, which are fewer and fuller packets. On io_uring
// smaller reads are worthwhile too. There the reactor receives 16 KiB for each ready connection,
// and these have left the cache when the last handler runs. Small messages cost less through the
// reactor. io_uring needs no system call for each, and the other backends make the same call
// without asking first whether there is something.
//
// The memory is the worker's, so it does not grow with the connections, and a handler keeps none of
// it. A read is no larger than the handler may leave unread, nor than may be unsent if all of it is
// echoed. So it exceeds neither bound by more than bulkReads.little.
//
// go run ./bench -workloads echo16k,stream-echo measures it.
//
// With Config.MaxMemory the task reads all input (see frugal). A receive in flight would bring
// bytes although memory is short, on io_uring up to all its buffers for each connection.

// bulkReads are the sizes that decide about it.
type bulkReads struct {
	much   int // in a run: two of these in a row and the task reads itself
	little int // in a read: two of less in a row and it does not any more
	most   int // at once
}

func newBulkReads(backend string, receiveMemory int) bulkReads {
	b := bulkReads{much: 32 << 10, little: 16 << 10, most: min(2*bufs.Large, receiveMemory)}
	switch backend {
	case "io_uring":
		b.much, b.little = 8<<10, 4<<10
	case "iocp":
		// never: under Wine a question whether there is something consumes a reset, and the read
		// after it does not see that
		b.much = math.MaxInt
	}
	return b
}

// frugal reports whether the task must read all input itself. Then it asks for memory before it
// takes anything out of the kernel.
func (c *Conn) frugal() bool {
	return c.group.bounded() && c.group.bulk.much < math.MaxInt && !c.is(closing) && !c.reading.is(deaf|ended) && !c.consumer().paces()
}

// gauge decides whether the reactor or the task receives from now on. It is called after a run in
// which so many bytes came from the reactor.
func (c *Conn) gauge(came int) {
	switch {
	case came < c.group.bulk.much:
		if came > 0 {
			c.reading.clear(much)
		}
	case !c.reading.is(much):
		c.reading.set(much)
	case !c.is(closing|broken) && !c.reading.is(deaf|ended) && c.filter() == nil && !c.consumer().paces():
		c.reading.set(direct) // settle ends the receive
	}
}

// readNow reads once, so that other tasks do not wait long, and gives the bytes to the handler. The
// reactor has reported that there is something, so no receive is in flight.
func (c *Conn) readNow() {
	if c.filter().decrypts() {
		c.readSealed()
		return
	}
	b := &c.group.bulk
	most := min(bufs.Large, b.most)
	if c.reading.is(ample) {
		most = b.most
	}
	borrowed := len(c.in.Unread) <= most/4 // little enough for a copy
	var room []byte
	if borrowed {
		room = c.in.Borrow(&c.driver.scratch, most)
	} else {
		room = c.in.Space(&c.driver.buffers, most/4)
	}
	room = room[:min(len(room), max(c.wants(), b.little))]
	if c.reading.is(ample) {
		room = room[:sock.Whole(c.end.FD, len(room))]
	}
	n, errno := c.group.cfg.Reactor.TryRecv(c.end.FD, room)
	if errno == syscall.EAGAIN {
		return
	}
	c.driver.news = true
	if errno != 0 || n == 0 {
		c.reading.clear(direct)
		c.recvEnd(errno)
		return
	}
	if n == len(room) {
		c.reading.set(ample)
	}
	c.cameDirectly(n)
	if borrowed {
		c.in.Fill(&c.driver.buffers, &c.driver.scratch, n)
	} else {
		c.in.Extend(n)
	}
	c.offer()
	switch {
	case n >= b.little:
		c.reading.set(much)
	case c.reading.is(much):
		c.reading.clear(much)
	default:
		c.reading.clear(direct | ample)
	}
}

// readSealed is readNow for a connection whose task decrypts.
func (c *Conn) readSealed() {
	d, b := c.driver, &c.group.bulk
	room := d.scratch.Room(min(bufs.Large, b.most))
	room = room[:min(len(room), max(c.wants(), b.little))]
	n, errno := c.group.cfg.Reactor.TryRecv(c.end.FD, room)
	if errno == syscall.EAGAIN {
		return
	}
	d.news = true
	if errno != 0 || n == 0 {
		c.reading.clear(direct)
		c.recvEnd(errno)
		return
	}
	c.cameDirectly(n)
	c.filter().decipher(c, room[:n])
	c.filter().offer(c)
}

// wants is how much may be read without passing a bound.
func (c *Conn) wants() int {
	cfg := &c.group.cfg
	return min(cfg.MaxRead-len(c.in.Unread), cfg.HighWater-c.Unsent(), c.consumer().appetite())
}
