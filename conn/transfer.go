package conn

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"syscall"

	"github.com/suiro-go/suiro/internal/bufs"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
)

// A transfer is a piece of a file in its place among what is written: it leaves when
// all before it has, and after follows it.
type transfer struct {
	file   *os.File // this connection's own
	fd     int      // its descriptor
	offset int64
	left   int64
	plain  bool // the kernel cannot send it: it is read and written
	after  []byte
}

const (
	// maxFiles bounds a connection's transfers: each holds a descriptor.
	maxFiles = 64
	// sendfileStep bounds one call, so that others have a turn: 1 MiB is some 200 µs.
	sendfileStep = 1 << 20
)

// enqueue adds a copy of p to what is written.
func enqueue[T string | []byte](c *Conn, p T) {
	q := c.tail()
	*q = append(c.driver.buffers.Grow(*q, len(p)), p...)
	if q != &c.queued {
		c.extras.after += len(p)
	}
}

// tail is the end of what is written.
func (c *Conn) tail() *[]byte {
	if x := c.extras; x != nil && len(x.transfers) > 0 {
		return &x.transfers[len(x.transfers)-1].after
	}
	return &c.queued
}

// pending is what has to leave besides the bytes in flight and those queued: in
// memory, a pipe included, and in files.
func (c *Conn) pending() (memory int, files int64) {
	x := c.extras
	if x == nil {
		return 0, 0
	}
	if x.relay != nil {
		memory = x.relay.owed
	}
	return memory + x.after, x.files
}

// unsentMemory is Unsent without files, and with what waits for a handshake.
func (c *Conn) unsentMemory() int {
	memory, _ := c.pending()
	return len(c.queued) + c.inFlight + memory + c.sealed() + c.early()
}

func clampInt(n int64) int { return int(min(n, math.MaxInt)) }

// fetch goes on with what is pending, if nothing is queued before it: bytes become
// queued, files and pipes are worked here, as far as the kernel takes them at once.
func (c *Conn) fetch() {
	c.mu.Lock()
	if c.extras.files > 0 { // before any of it goes: nobody is to send in its midst
		c.inbox.need(c.driver)
		c.inbox.files = clampInt(c.extras.files)
		c.inbox.right.Queue(0)
	}
	flying := c.inbox.right.Want() // then the task runs when that ends
	c.mu.Unlock()
	for len(c.queued) == 0 && !c.is(awaiting|broken) {
		x := c.extras
		switch {
		case len(x.transfers) > 0 && !flying:
			c.sendFile(x.transfers[0])
		case len(x.transfers) == 0 && x.relay != nil && x.relay.owed > 0:
			if !x.relay.fetch(c, flying) {
				return
			}
		default:
			return
		}
	}
}

// sendFile goes on with the first transfer.
func (c *Conn) sendFile(t *transfer) {
	if t.left > 0 && !t.plain {
		n, errno := sock.Sendfile(c.end.FD, t.fd, t.offset, int(min(t.left, sendfileStep)))
		switch {
		case errno == syscall.EINVAL || errno == syscall.ENOSYS || errno == syscall.EOPNOTSUPP:
			t.plain = true // not with this file system
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
			c.progressed(t, n)
			c.tookDirectly(n)
			if t.left > 0 {
				c.awaitWritable() // others first
				return
			}
		}
	}
	if t.left > 0 {
		room := c.driver.buffers.Get(bufs.Large)
		room = room[:min(int64(cap(room)), t.left)]
		n, err := t.file.ReadAt(room, t.offset)
		if n == 0 {
			c.driver.buffers.Put(room)
			if err == nil || errors.Is(err, io.EOF) {
				c.tooShort(t)
			} else {
				c.failWrite(c.opError("write", err))
			}
			return
		}
		c.driver.buffers.Put(c.queued)
		c.queued = room[:n]
		c.progressed(t, n)
		if t.left > 0 {
			return
		}
	}
	c.endTransfer(t)
}

func (c *Conn) progressed(t *transfer, n int) {
	t.offset += int64(n)
	t.left -= int64(n)
	c.extras.files -= int64(n)
}

// endTransfer is for the first one: what is to follow it follows what is queued.
func (c *Conn) endTransfer(t *transfer) {
	x := c.extras
	_ = t.file.Close()
	x.transfers[0] = nil
	if x.transfers = x.transfers[1:]; len(x.transfers) == 0 {
		x.transfers = nil
	}
	x.after -= len(t.after)
	if len(c.queued) == 0 {
		c.driver.buffers.Put(c.queued)
		c.queued = t.after
		return
	}
	c.queued = append(c.driver.buffers.Grow(c.queued, len(t.after)), t.after...)
	c.driver.buffers.Put(t.after)
}

// dropTransfers is for the end of the connection.
func (c *Conn) dropTransfers() {
	x := c.extras
	if x == nil {
		return
	}
	for _, t := range x.transfers {
		_ = t.file.Close()
		c.driver.buffers.Put(t.after)
	}
	x.transfers, x.files, x.after = nil, 0, 0
	if x.relay != nil {
		x.relay.owed = 0 // it was discarded with OnClose; else it would stay in the ledger
	}
}

func (c *Conn) tooShort(t *transfer) {
	c.failWrite(c.opError("write", fmt.Errorf("conn: %s was truncated while it was sent: %d bytes are missing: %w",
		t.file.Name(), t.left, io.ErrUnexpectedEOF)))
}

// tookDirectly notes that the kernel has taken n bytes in a call of the task's own.
func (c *Conn) tookDirectly(n int) { c.inbox.right.Took(n) }

// awaitWritable has the task run when there is room for more. Nothing else is sent
// meanwhile.
func (c *Conn) awaitWritable() {
	c.set(awaiting)
	c.submit(c.out(), reactor.Op{Kind: reactor.Writable, FD: c.end.FD, Token: c.end.Token})
	if c.is(broken) {
		c.clear(awaiting)
	}
}
