package packet

import (
	"net"
	"net/netip"
	"os"

	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/saturate"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// Close ends the socket in order: nothing more is received, what was written is
// sent, for no longer than Config.Linger, and then it is closed. A second Close
// returns an error that matches net.ErrClosed and does nothing.
func (c *Conn) Close() error {
	if c.is(closing | broken) {
		return c.opError("close", netip.AddrPort{}, net.ErrClosed)
	}
	c.flags |= closing
	c.clock.user = 0
	c.clock.linger = saturate.Add(c.group.RT.Now(), c.group.Linger)
	return nil
}

// Abort ends the socket at once: what was written and not sent is dropped.
func (c *Conn) Abort() { c.fail(engine.ErrAborted) }

// fail ends the socket without further ado.
func (c *Conn) fail(err error) {
	if c.cause == nil {
		c.cause = err
	}
	c.flags |= broken
}

// check closes the socket if the handler returned an error.
func (c *Conn) check(err error) {
	if err == nil || c.is(broken) {
		return
	}
	c.group.HandlerFailed(err, c.handler, c.is(closing), c.logAttr())
	if !c.is(closing) {
		c.cause = err
		_ = c.Close()
	}
}

// lingered is the end of the time that Close gives to what is queued.
func (c *Conn) lingered() { c.fail(c.opError("close", netip.AddrPort{}, os.ErrDeadlineExceeded)) }

// tearDown ends what is in flight and then closes the descriptor.
func (c *Conn) tearDown(cx *sched.Context) (done bool) {
	if c.is(receiving) && !c.is(stopping) {
		c.flags |= stopping
		c.driver.Cancel(c.home, &c.end, reactor.RecvFrom)
	}
	c.mu.Lock()
	in := &c.inbox
	sending := in.flight != nil
	cancelSend := sending && !in.closed
	in.closed, in.tellEnd = true, true
	more := in.landed != nil || len(in.commands) > 0 // came since this run began
	c.mu.Unlock()
	if cancelSend {
		c.driver.Cancel(c.outgoing, &c.end, reactor.SendTo)
	}
	switch {
	case more:
		cx.Wake(c.task.Waker())
		return false
	case sending || c.is(receiving):
		return false
	}
	c.clock.alarm.Stop(c.group.RT)
	c.dropUnsent()
	c.group.Table.Remove(&c.end)
	c.mu.Lock()
	in.gone = true
	c.mu.Unlock()
	c.driver.CloseFD(c.home, c.end.FD, false)
	c.end.FD = -1
	c.closed = max(1, cx.Now())
	// The kernel may be about to let go of the receive that has just ended, and with
	// it of the socket: who waits for the end may want the port. So look again in a
	// later tick, as a listener does.
	c.lookAgain()
	return false
}

// dropUnsent disposes of what is queued and will not be sent.
func (c *Conn) dropUnsent() {
	for _, n := range c.notes {
		n.tell(c.opError("write", netip.AddrPort{}, net.ErrClosed))
	}
	c.notes, c.out = nil, nil
}

// over tells the handler, once the socket is gone.
func (c *Conn) over(cx *sched.Context) (done bool) {
	if cx.Now() <= c.closed {
		c.lookAgain()
		return false
	}
	c.tellOver()
	c.group.Census.Leave(c.is(outbound))
	return true
}

func (c *Conn) tellOver() {
	if c.is(told) {
		return // it has ended the goroutine
	}
	c.flags |= told
	defer c.recoverPanic()
	c.handler.OnClose(c, c.cause)
}
