package core

import (
	"net"

	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/mailbox"
	"github.com/suiro-go/suiro/internal/sending"
	"github.com/suiro-go/suiro/internal/sock"
)

// A connection is its task's, but for the inbox and for the fields that say so. Those the mutex
// guards. It is locked here for a look or a note, and elsewhere only where a run takes its input
// (inbox.go), where bytes leave (writesend.go, writesocket.go, writeoutlet.go), and for the memory
// budget (memory.go). Nobody else locks it, but for a dump, if it can (dump.go).

// More is the extras, which it makes if there are none.
func (c *Conn) More() *extras {
	if c.Extras == nil {
		c.Mu.Lock()
		defer c.Mu.Unlock()
		c.Extras = new(extras)
	}
	return c.Extras
}

// SetLink makes the connection an end of a splice.
func (c *Conn) SetLink(l *Link) {
	x := c.More()
	c.Mu.Lock()
	defer c.Mu.Unlock()
	x.Link = l
}

// SetFilter makes the connection speak TLS.
func (c *Conn) SetFilter(f *Filter) {
	x := c.More()
	c.Mu.Lock()
	defer c.Mu.Unlock()
	x.Filter = f
}

// FilterNow is Filter for others than the task.
func (c *Conn) FilterNow() *Filter {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	return c.Filter()
}

func (c *Conn) setHandler(h any) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.Handler = h
}

// handlerNow is the handler for others than the task.
func (c *Conn) handlerNow() any {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	return c.Handler
}

// SetRemoteAddr is Conn.SetRemoteAddr of package conn.
func (c *Conn) SetRemoteAddr(client net.Addr) {
	x := c.More()
	c.Mu.Lock()
	defer c.Mu.Unlock()
	x.client = client
}

// Remote is RemoteAddr for others than the task.
func (c *Conn) Remote() net.Addr {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	return c.RemoteAddr()
}

// won notes which address the dial has reached.
func (c *Conn) won(addr net.Addr) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	towards(c, addr)
	c.Extras.dial.target = nil
}

// Traffic is how much has gone through a connection, in bytes.
type Traffic struct {
	Received, Sent uint64
	Unsent         int // written, and not taken by the kernel
	Handler        any // an end of a splice counts what it passes on itself
}

// Traffic is a snapshot. Any goroutine may call it.
func (c *Conn) Traffic() Traffic {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	return c.traffic()
}

// traffic is Traffic. Mu is held.
func (c *Conn) traffic() Traffic {
	t := Traffic{Handler: c.Handler, Received: c.Inbox.received, Sent: c.Inbox.Right.Sent(), Unsent: c.Inbox.waits()}
	if o := c.Inbox.Rest(); o != nil {
		t.Unsent += o.files
	}
	if p, ok := c.Handler.(Passer); ok {
		t.Received += p.Passed()
	}
	return t
}

// WithFD calls f with the descriptor, while that is open.
func (c *Conn) WithFD(f func(fd int) error) error {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	// it is about to be closed, by the task, which takes no notice of the lock
	if c.Inbox.Closed() {
		return net.ErrClosed
	}
	return f(c.Endpoint.FD)
}

// LocalAddrIn is the local address, for which the kernel is asked once, and which is then in a
// field of the caller. open says that the descriptor is known to be open.
func (c *Conn) LocalAddrIn(field *net.Addr, open bool) net.Addr {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	if *field == nil && (open || !c.Inbox.Closed()) {
		*field = sock.LocalAddr(c.Endpoint.FD)
	}
	return *field
}

// isDuplicated reports whether a function of a RawConn has a duplicate of the descriptor. Then
// close alone would not end the connection.
func (c *Conn) isDuplicated() bool {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	o := c.Inbox.Rest()
	return o != nil && o.duplicates > 0
}

// undup notes that a function of a RawConn has given its duplicate back.
func (c *Conn) undup() {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.Inbox.Rest().duplicates--
}

// uncount notes that a function of Handle.Do is called.
func (c *Conn) uncount() {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.Inbox.Rest().calls--
}

// received notes that the task has received n bytes itself.
func (c *Conn) received(n int) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.Inbox.received += uint64(n)
}

// arrived is how much has been received, and whether some of it waits for the task.
func (c *Conn) arrived() (waits bool, received uint64) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	return c.Inbox.Chunks() > 0, c.Inbox.received
}

// hasInput reports whether bytes, or the end of the receive, wait for the task.
func (c *Conn) hasInput() bool {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	return c.Inbox.Signs().Is(mailbox.RecvEnded) || c.Inbox.Chunks() > 0
}

func (c *Conn) sign(s mailbox.Signs) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.Inbox.Sign(s)
}

func (c *Conn) unsign(s mailbox.Signs) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.Inbox.Unsign(s)
}

// doubt asks the worker to look whether the receive has missed something, see engine.Suspect.
func (c *Conn) doubt(d *Driver) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.Inbox.doubt(c, d)
}

// doubt is Conn.doubt. The mutex is held.
func (in *inbox) doubt(c *Conn, d *Driver) {
	if c.Group.Completes && !in.Closed() && !in.Signs().Is(watchDoubted) {
		in.Sign(watchDoubted)
		d.Doubt(c.Endpoint.Token)
	}
}

// believe ends a doubt, and returns the descriptor if that is open.
func (c *Conn) believe() (fd int, open bool) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.Inbox.Unsign(watchDoubted)
	if c.Inbox.Closed() {
		return -1, false
	}
	return c.Endpoint.FD, true
}

// isEndAsked reports whether a command to close or abort the connection was accepted. The task may
// not have executed it. Any goroutine may call it.
func isEndAsked(c *Conn) bool {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	return c.Inbox.Signs().Is(endAsked)
}

// shut closes the inbox and the right to send: nothing enters the one, and nobody takes the other,
// after this. It returns who holds the right, the driver at which an Operation is, and whether this
// call was the first.
func (c *Conn) shut() (held sending.Holder, at *engine.Driver, first bool) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	held, first = c.Inbox.Right.Close()
	at = c.outgoing
	if held == sending.Operation && c.Inbox.Rest().flightBy != nil {
		at = c.Inbox.Rest().flightBy
	}
	c.Inbox.Close()
	c.Inbox.reckon(c.Group)
	return held, at, first
}

// closeAbandoned closes the sockets. It may be called twice at a time. If a goroutine is just
// sending, that one closes the socket. No other system call of this module can be under way, since
// the workers have ended, and none begins after this.
func (c *Conn) closeAbandoned() {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	held, _ := c.Inbox.Right.Close()
	c.Inbox.Close()
	if c.Extras.racing() {
		c.Extras.dial.race.Abandon()
	}
	if held == sending.Call {
		c.Inbox.Need(nil).orphaned = true
		return
	}
	c.resetNow()
}

// closeOrphan is for the end of a hold that the end of the workers has met. The mutex is held.
func (c *Conn) closeOrphan() {
	if o := c.Inbox.Rest(); o != nil && o.orphaned {
		c.resetNow()
	}
}

// resetNow resets and closes the socket, once. The mutex is held.
func (c *Conn) resetNow() {
	if c.Endpoint.FD >= 0 {
		sock.ResetOnClose(c.Endpoint.FD)
		sock.Close(c.Endpoint.FD)
		c.Endpoint.FD = -1
	}
}

// late are the commands that came after the connection's last run.
func (c *Conn) late() []Command {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	return c.Inbox.Late()
}
