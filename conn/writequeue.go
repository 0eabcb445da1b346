package conn

import (
	"errors"
	"fmt"
	"io"
	"math"
	"syscall"

	"github.com/suiro-go/suiro/internal/bufs"
	"github.com/suiro-go/suiro/internal/flow"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
)

const (
	// maxFiles bounds a connection's transfers: each holds a descriptor.
	maxFiles = 64
	// sendfileStep bounds one call, so that others have a turn: 1 MiB is some 200 µs.
	sendfileStep = 1 << 20
)

// enqueue adds a copy of p to the queue.
func enqueue[T string | []byte](c *Conn, p T) { flow.Append(&c.out, &c.driver.buffers, p) }

// pending is how much must leave besides the bytes in flight and those queued: in memory, a pipe
// included, and in files.
func (c *Conn) pending() (memory int, files int64) {
	if r := c.spliced(); r != nil {
		memory = r.owed
	}
	return memory + c.out.Memory(), c.out.FileBytes()
}

// unsentMemory is Unsent without files, and with the bytes that wait for a handshake.
func (c *Conn) unsentMemory() int {
	memory, _ := c.pending()
	return len(c.out.Queued) + c.inFlight + memory + c.filter().sealed() + c.filter().early()
}

func clampInt(n int64) int { return int(min(n, math.MaxInt)) }

// fetch works on pending data if nothing is queued before it. Bytes become queued; files and pipes
// are sent here, as far as the kernel takes them at once.
func (c *Conn) fetch() {
	c.mu.Lock()
	if n := c.out.FileBytes(); n > 0 { // before any of it goes: nobody is to send in its midst
		c.inbox.need(c.driver)
		c.inbox.files = clampInt(n)
		c.inbox.right.Queue(0)
	}
	flying := c.inbox.right.Want() // then the task runs when that ends
	c.mu.Unlock()
	for len(c.out.Queued) == 0 && !c.is(awaiting|broken) {
		f, r := c.out.First(), c.spliced()
		switch {
		case f != nil && !flying:
			c.sendFile(f)
		case f == nil && r != nil && r.owed > 0:
			if !r.fetch(c, flying) {
				return
			}
		default:
			return
		}
	}
}

// sendFile goes on with the first piece of a file.
func (c *Conn) sendFile(t *flow.File) {
	if t.Left > 0 && !t.Plain {
		n, errno := sock.Sendfile(c.end.FD, t.FD, t.Offset, int(min(t.Left, sendfileStep)))
		switch {
		case errno == syscall.EINVAL || errno == syscall.ENOSYS || errno == syscall.EOPNOTSUPP:
			t.Plain = true // not with this file system
		case errno == syscall.EAGAIN:
			c.awaitWritable()
			return
		case errno != 0:
			c.failWrite(c.sysError("write", "sendfile", errno))
			return
		case n == 0:
			c.tooShort(t)
			return
		default:
			c.out.Went(n)
			c.tookDirectly(n)
			if t.Left > 0 {
				c.awaitWritable() // others first
				return
			}
		}
	}
	if t.Left > 0 {
		room := c.driver.buffers.Get(bufs.Large)
		room = room[:min(int64(cap(room)), t.Left)]
		n, err := t.ReadAt(room, t.Offset)
		if n == 0 {
			c.driver.buffers.Put(room)
			if err == nil || errors.Is(err, io.EOF) {
				c.tooShort(t)
			} else {
				c.failWrite(c.opError("write", err))
			}
			return
		}
		c.out.Replace(&c.driver.buffers, room[:n])
		c.out.Went(n)
		if t.Left > 0 {
			return
		}
	}
	c.out.EndFile(&c.driver.buffers)
}

func (c *Conn) tooShort(t *flow.File) {
	c.failWrite(c.opError("write", fmt.Errorf("conn: %s was truncated while it was sent: %d bytes are missing: %w",
		t.Name(), t.Left, io.ErrUnexpectedEOF)))
}

// tookDirectly notes that the kernel has taken n bytes in a call of the task's own.
func (c *Conn) tookDirectly(n int) { c.inbox.right.Took(n) }

// awaitWritable makes the task run when there is room for more. Nothing else is sent meanwhile.
func (c *Conn) awaitWritable() {
	c.set(awaiting)
	c.submit(c.carrier(), reactor.Op{Kind: reactor.Writable, FD: c.end.FD, Token: c.end.Token})
	if c.is(broken) {
		c.clear(awaiting)
	}
}
