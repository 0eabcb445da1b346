package conn

import (
	"net"
	"net/netip"
	"os"

	"github.com/suiro-go/suiro/internal/saturate"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// Close ends the socket in order: nothing more is received, what was written is
// sent, for no longer than Config.Linger, and then it is closed. A second Close
// returns an error that matches net.ErrClosed and does nothing.
func (c *PacketConn) Close() error {
	if c.is(packetClosing | packetBroken) {
		return c.opError("close", netip.AddrPort{}, net.ErrClosed)
	}
	c.flags |= packetClosing
	c.clock.user = 0
	c.clock.linger = saturate.Add(c.group.rt.Now(), c.group.cfg.Linger)
	return nil
}

// Abort ends the socket at once: what was written and not sent is dropped.
func (c *PacketConn) Abort() { c.fail(errAborted) }

// fail ends the socket without further ado.
func (c *PacketConn) fail(err error) {
	if c.cause == nil {
		c.cause = err
	}
	c.flags |= packetBroken
}

// check closes the socket if the handler returned an error.
func (c *PacketConn) check(err error) {
	if err == nil || c.is(packetBroken) {
		return
	}
	c.group.core.HandlerFailed(err, c.handler, c.is(packetClosing), c.logAttr())
	if !c.is(packetClosing) {
		c.cause = err
		_ = c.Close()
	}
}

// lingered is the end of the time that Close gives to what is queued.
func (c *PacketConn) lingered() { c.fail(c.opError("close", netip.AddrPort{}, os.ErrDeadlineExceeded)) }

// tearDown ends what is in flight and then closes the descriptor.
func (c *PacketConn) tearDown(cx *sched.Context) (done bool) {
	if c.is(packetReceiving) && !c.is(packetStopping) {
		c.flags |= packetStopping
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
	case sending || c.is(packetReceiving):
		return false
	}
	c.group.rt.StopTimer(&c.clock.timer)
	c.dropUnsent()
	c.group.core.Table.Remove(&c.end)
	c.mu.Lock()
	in.gone = true
	c.mu.Unlock()
	c.driver.CloseFD(c.home, c.end.FD, false)
	c.end.FD = -1
	c.closed = max(1, cx.Now())
	// The kernel may be about to let go of the receive that has just ended, and with
	// it of the socket: who waits for the end may want the port. So look again in a
	// later tick, as a listener does.
	c.group.rt.StartTimer(&c.clock.timer, c.group.rt.Now(), c.task.Waker())
	return false
}

// dropUnsent disposes of what is queued and will not be sent.
func (c *PacketConn) dropUnsent() {
	for len(c.notes) > 0 {
		n := c.notes[0]
		c.notes = c.notes[1:] // it may end the goroutine, and then the next run is here again
		n.tell(c.opError("write", netip.AddrPort{}, net.ErrClosed))
	}
	c.notes, c.out = nil, nil
}

// over tells the handler, once the socket is gone.
func (c *PacketConn) over(cx *sched.Context) (done bool) {
	if cx.Now() <= c.closed {
		c.group.rt.StartTimer(&c.clock.timer, c.group.rt.Now(), c.task.Waker())
		return false
	}
	c.tellOver()
	c.group.core.Census.Leave(c.is(packetOutbound))
	return true
}

func (c *PacketConn) tellOver() {
	if c.is(packetTold) {
		return // it has ended the goroutine
	}
	c.flags |= packetTold
	defer c.recoverPanic()
	c.handler.OnClose(c, c.cause)
}
