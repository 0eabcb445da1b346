package core

import (
	"net"
	"os"

	"github.com/suiro-go/suiro/internal/flow"
)

// A writer is the task's half of what a connection sends. The other half, which other goroutines
// and workers use under the mutex, is in the inbox.
type writer struct {
	c        *Conn       // nil: see pendingWork
	Out      flow.Output // behind the flight
	InFlight int         // at most this many bytes of the send in flight are unsent
	toWrite  int         // bytes of the commands that this run has taken and not executed
}

// Write is Conn.Write of package conn.
func (c *Conn) Write(p []byte) (int, error) {
	if err := c.Writable(); err != nil {
		return 0, err
	}
	rest := p
	if len(p) >= atOnce {
		if rest = p[c.writeNow(p):]; len(rest) == 0 {
			return len(p), nil
		}
	}
	Enqueue(c, rest)
	return len(p), nil
}

// WriteNow is Conn.WriteNow of package conn.
func (c *Conn) WriteNow(p []byte) (int, error) {
	if err := c.Writable(); err != nil {
		return 0, err
	}
	if rest := p[c.writeNow(p):]; len(rest) > 0 {
		Enqueue(c, rest)
	}
	return len(p), nil
}

// WriteString is Conn.WriteString of package conn.
func (c *Conn) WriteString(s string) (int, error) {
	if err := c.Writable(); err != nil {
		return 0, err
	}
	Enqueue(c, s)
	return len(s), nil
}

// Writev is Conn.Writev of package conn.
func (c *Conn) Writev(bufs [][]byte) (int, error) {
	if err := c.Writable(); err != nil {
		return 0, err
	}
	n := 0
	for _, p := range bufs {
		n += len(p)
	}
	c.Out.Room(&c.Driver.Buffers, n)
	for _, p := range bufs {
		Enqueue(c, p)
	}
	return n, nil
}

// AvailableBuffer is Conn.AvailableBuffer of package conn.
func (c *Conn) AvailableBuffer(n int) []byte {
	if c.Writable() != nil {
		return make([]byte, 0, n)
	}
	return c.Out.Room(&c.Driver.Buffers, n)
}

// Unsent is Conn.Unsent of package conn.
func (c *Conn) Unsent() int {
	if c.Extras == nil && c.Out.Files() == 0 || c.pendingWork == &noPendingWork {
		return len(c.Out.Queued) + c.InFlight
	}
	memory, files := c.Pending()
	return clampInt(files + int64(len(c.Out.Queued)+c.InFlight+memory+c.Filter().sealed()))
}

// NotifySent is Conn.NotifySent of package conn.
func (c *Conn) NotifySent(f func(error)) {
	if c.isOver() {
		f(c.unsentCause())
		return
	}
	x := c.More()
	x.notifySent = append(x.notifySent, f)
	c.Task.Wake() // there may be nothing unsent now
}

// Flush is Conn.Flush of package conn.
func (c *Conn) Flush() error {
	if c.Is(Broken | Finished) { // WriteClosed alone: bytes written before are still to be sent
		return c.OpError("write", net.ErrClosed)
	}
	if c.Is(Opened) { // else it is sent once the connection is there
		c.send(false)
	}
	return nil
}

// Writable is why a handler may write nothing now, or nil.
func (c *Conn) Writable() error {
	switch {
	case c.Is(Broken|Closing|WriteClosed) || c.Filter().Lent():
		return c.OpError("write", net.ErrClosed)
	case c.Is(SendFailed): // so that dropped bytes do not fill the queue
		c.dropOutput()
		return nil
	case c.Is(overdue):
		return c.OpError("write", os.ErrDeadlineExceeded)
	case !c.Group.mayQueue(c.unsentMemory()):
		return ErrWriteQueueFull
	}
	return nil
}
