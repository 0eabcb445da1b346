package conn

import (
	"net"
	"os"

	"github.com/suiro-go/suiro/internal/duplex"
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/sending"
	"github.com/suiro-go/suiro/reactor"
)

// Write queues a copy of p. All bytes written while a handler's method runs leave as one send when
// it returns. Flush sends sooner. So does a write of 16 KiB or more, with the bytes written before:
// the socket takes its share at once, and only the rest is copied. The error is ErrWriteQueueFull,
// or matches net.ErrClosed; then nothing of p was taken.
func (c *Conn) Write(p []byte) (int, error) {
	if err := c.writable(); err != nil {
		return 0, err
	}
	rest := p
	if len(p) >= atOnce {
		if rest = p[c.writeNow(p):]; len(rest) == 0 {
			return len(p), nil
		}
	}
	enqueue(c, rest)
	return len(p), nil
}

// WriteString is Write for a string.
func (c *Conn) WriteString(s string) (int, error) {
	if err := c.writable(); err != nil {
		return 0, err
	}
	enqueue(c, s)
	return len(s), nil
}

// Writev queues a copy of all of bufs, or of none.
func (c *Conn) Writev(bufs [][]byte) (int, error) {
	if err := c.writable(); err != nil {
		return 0, err
	}
	n := 0
	for _, p := range bufs {
		n += len(p)
	}
	c.out.Room(&c.driver.buffers, n)
	for _, p := range bufs {
		enqueue(c, p)
	}
	return n, nil
}

// AvailableBuffer is room for n more bytes at the end of the queue. Append at most n bytes and give
// the result to Write, which then copies nothing.
func (c *Conn) AvailableBuffer(n int) []byte {
	if c.writable() != nil {
		return make([]byte, 0, n)
	}
	return c.out.Room(&c.driver.buffers, n)
}

// Unsent is the number of bytes written that the kernel has not taken yet, as
// far as the connection has heard.
func (c *Conn) Unsent() int {
	if c.extras == nil && c.out.Files() == 0 {
		return len(c.out.Queued) + c.inFlight
	}
	memory, files := c.pending()
	return clampInt(files + int64(len(c.out.Queued)+c.inFlight+memory+c.filter().sealed()))
}

// NotifySent calls f once, as a handler's method is called, before OnClose. f gets nil once nothing
// is unsent, or the error that prevented that.
func (c *Conn) NotifySent(f func(error)) {
	x := c.more()
	x.notifySent = append(x.notifySent, f)
	c.task.Wake() // there may be nothing unsent now
}

func (c *Conn) notifySent(err error) {
	if c.extras == nil {
		return
	}
	for len(c.extras.notifySent) > 0 { // one may add another
		f := c.extras.notifySent[0]
		c.extras.notifySent = c.extras.notifySent[1:]
		f(err)
	}
}

// Flush gives all written bytes to the kernel with the worker's next system call. If a send is in
// flight, they follow it.
func (c *Conn) Flush() error {
	if c.is(broken | finished) { // mute alone: bytes written before are still to be sent
		return c.opError("write", net.ErrClosed)
	}
	if c.is(opened) { // else it is sent once the connection is there
		c.send(false)
	}
	return nil
}

func (c *Conn) writable() error {
	switch {
	case c.is(broken|closing|mute) || c.filter().lent():
		return c.opError("write", net.ErrClosed)
	case c.is(overdue):
		return c.opError("write", os.ErrDeadlineExceeded)
	case !c.group.mayQueue(c.unsentMemory()):
		return ErrWriteQueueFull
	}
	return nil
}

// send starts a send if something is queued and none is in flight. It returns the number of bytes
// that are unsent. If that is not zero, the task runs again when the send in flight ends and more
// is to be sent. With tell it runs again in any case. The end comes either before the lock is taken
// here, and is seen, or after, and wakes the task.
func (c *Conn) send(tell bool) int {
	memory, files := c.pending()
	if memory > 0 || files > 0 {
		c.fetch()
		memory, files = c.pending()
	}
	f, r := c.filter(), c.spliced()
	sealed := f.seal(c)
	tell = tell || !sealed || memory > 0 || files > 0 || r != nil && r.asked
	c.mu.Lock()
	in := &c.inbox
	var start []byte
	early := f.early()
	if len(c.out.Queued) > 0 || memory > 0 || files > 0 || early > 0 {
		in.need(c.driver)
	}
	tell = tell || in.mail != nil && len(in.commands) > 0
	if len(c.out.Queued) > 0 && sealed && !c.is(awaiting) && in.right.Take(sending.Operation, tell) {
		in.flight, in.sent, in.lent = c.out.Take(), 0, nil
		start = in.flight
	} else if tell || len(c.out.Queued) > 0 {
		in.right.Want()
	}
	if r != nil && c.is(mute|closing) { // a FIN may be on its way, see passNow
		in.right.Bar()
	}
	coming := 0 // from put, and takeOver is about to run
	if c.is(mute | closing) {
		in.takes = takesNoPut // not closed yet: c is not broken
		if in.mail != nil {
			coming = in.bytes
		}
	}
	var waiter *duplex.Duplex
	if in.mail != nil {
		in.queued, in.files = len(c.out.Queued)+memory+early+c.toWrite, clampInt(files)
		in.reckon(c.group)
		if in.flight == nil && in.queued == 0 { // the bytes that it waits for were dropped
			waiter, in.waiter = in.waiter, nil
		}
	}
	switch {
	case in.mail != nil && in.queued+in.files+in.bytes > 0:
		in.right.Queue(0)
	case in.right.IsQueued():
		in.right.Drained()
	}
	c.inFlight = in.sending()
	in.spare(c.driver)
	c.mu.Unlock()
	if waiter != nil {
		waiter.MadeRoom()
	}
	if start != nil {
		c.transmit(start, len(start) < atOnce)
	}
	if !sealed {
		return max(1, c.Unsent()) // there may be a close-notify to be sent
	}
	return c.Unsent() + coming
}

// resend goes on with a send that ended before all was sent.
func (c *Conn) resend() {
	c.mu.Lock()
	rest := c.inbox.flight[c.inbox.sent:]
	c.inbox.lent = nil
	c.mu.Unlock()
	c.transmit(rest, false)
}

// carrier is the driver that takes a Connect or Send. There is one of either in
// flight at a time, so that the order is kept whichever reactor carries it.
func (c *Conn) carrier() *engine.Driver {
	c.outgoing = c.driver.Via(c.home)
	if c.home == nil {
		c.home = c.outgoing
	}
	return c.outgoing
}

// transmit gives the kernel the rest of the flight. With prompt there is probably room for it, so
// the send need not wait for room. If there is none, resend makes it wait.
func (c *Conn) transmit(rest []byte, prompt bool) {
	left, err := c.carry(c.driver, c.carrier(), rest, prompt)
	c.inFlight = left
	if err != nil {
		c.failWrite(c.opError("write", err))
	}
}

// carry gives the rest of the flight to a reactor, on the worker of driver d. Some backends know
// the result at once. Others may deliver it on another worker before Submit returns, so the flight
// must not be touched after Submit. At most left bytes are in flight.
func (c *Conn) carry(d *driver, to *engine.Driver, rest []byte, prompt bool) (left int, err error) {
	for len(rest) > 0 {
		if err = d.Submit(to, reactor.Op{Kind: reactor.Send, FD: c.end.FD, Token: c.end.Token, Buf: rest, TCP: c.overTCP(), Prompt: prompt}); err != nil {
			c.land(d, len(rest))
			return 0, err
		}
		if d.Op.Sent == 0 {
			break
		}
		c.land(d, d.Op.Sent)
		rest = rest[d.Op.Sent:]
	}
	return len(rest), nil
}

// land notes that n bytes of the flight are dealt with.
func (c *Conn) land(d *driver, n int) {
	c.mu.Lock()
	in := &c.inbox
	var waiter *duplex.Duplex
	tell := false
	if in.sent += n; in.sent == len(in.flight) {
		d.buffers.Put(in.flight)
		in.flight, in.sent = nil, 0
		in.reckon(c.group)
		tell = in.right.GiveUp(n, 0).Task
		waiter, in.waiter = in.waiter, nil
		in.spare(d)
	} else {
		in.right.Took(n)
	}
	c.mu.Unlock()
	if tell {
		d.Cx.Wake(c.task.Waker())
	}
	if waiter != nil {
		waiter.MadeRoom()
	}
}
