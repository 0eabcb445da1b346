package packet

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"os"

	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/saturate"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// Close closes the socket in order. It receives nothing more, and sends all queued datagrams, for
// at most Config.LingerTimeout. A second Close does nothing, and returns an error that matches
// net.ErrClosed.
func (c *Conn) Close() error {
	if c.is(closing | broken) {
		return c.opError("close", netip.AddrPort{}, net.ErrClosed)
	}
	c.flags |= closing
	c.refuseSends()
	c.clock.user = 0
	c.clock.linger = saturate.Add(c.group.RT.Now(), c.group.Linger)
	return nil
}

// Abort closes the socket at once. Datagrams that are queued and not sent are dropped.
func (c *Conn) Abort() { c.fail(engine.ErrAborted) }

// fail closes the socket at once. The first error is the one that OnClose gets.
func (c *Conn) fail(err error) {
	if c.cause == nil {
		c.cause = err
	}
	c.flags |= broken
	c.refuseSends()
}

// refuseSends makes Handle.Send fail from now on. The sends that wait in the inbox then were called
// before the end.
func (c *Conn) refuseSends() {
	c.mu.Lock()
	c.inbox.ending = true
	c.mu.Unlock()
}

// sendsWait reports whether the next run has datagrams of Handle.Send to send.
func (c *Conn) sendsWait() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.inbox.bytes > 0
}

// check closes the socket if the handler returned an error.
func (c *Conn) check(err error) {
	if err == nil || c.is(broken) {
		return
	}
	c.group.HandlerFailed(err, c.handler, c.is(closing), c.logAttr())
	if !c.is(closing) {
		if !c.peer.IsValid() { // nobody is served any more
			c.group.Logger.LogAttrs(context.Background(), slog.LevelError, "packet: a handler's error closes a socket that serves all peers",
				c.logAttr(), slog.String("handler", engine.HandlerName(c.handler)), slog.Any("error", err))
		}
		c.cause = err
		_ = c.Close()
	}
}

// lingered ends the socket: Close gives queued datagrams no more time.
func (c *Conn) lingered() { c.fail(c.opError("close", netip.AddrPort{}, os.ErrDeadlineExceeded)) }

// tearDown cancels the operations in flight, and closes the descriptor once they have ended.
func (c *Conn) tearDown(cx *sched.Context) (done bool) {
	if c.is(receiving) && !c.is(stopping) {
		c.flags |= stopping
		c.driver.Cancel(c.home, &c.end, reactor.RecvFrom)
	}
	c.mu.Lock()
	in := &c.inbox
	sending := in.flight != nil
	cancelSend := sending && !in.closed
	in.closed, in.wakeAtEnd = true, true
	calling := in.syscalls > 0
	more := in.failed != nil || len(in.commands) > 0 // they came after this run had begun
	c.mu.Unlock()
	if cancelSend {
		c.driver.Cancel(c.outgoing, &c.end, reactor.SendTo)
	}
	switch {
	case more:
		cx.Wake(c.task.Waker())
		return false
	case sending || calling || c.is(receiving):
		return false
	}
	c.clock.alarm.Stop(c.group.RT)
	c.drainTasks()
	c.dropUnsent()
	c.group.Table.Remove(&c.end)
	c.mu.Lock()
	in.gone = true
	c.mu.Unlock()
	c.driver.CloseFD(c.home, c.end.FD, false)
	c.end.FD = -1
	c.closed = max(1, cx.Now())
	// The kernel may still hold the socket, because of the receive that has just ended. A caller
	// that waits for the end may want the port. So the end is in a later tick, as a listener's is.
	c.runInLaterTick()
	return false
}

// dropUnsent drops all queued datagrams.
func (c *Conn) dropUnsent() {
	if c.out == nil {
		return
	}
	for i := range c.out.Len() {
		c.countDropped(segments(c.out, i))
	}
	c.out = nil
}

// countDropped counts datagrams that were accepted, and are not sent because the socket ends.
func (c *Conn) countDropped(datagrams int) {
	c.from.Part(c.driver.Worker).Dropped[engine.SocketClosed].Add(uint64(datagrams))
}

// over calls OnClose, in a later tick than the one in which the descriptor was closed.
func (c *Conn) over(cx *sched.Context) (done bool) {
	if cx.Now() <= c.closed {
		c.runInLaterTick()
		return false
	}
	c.callOnClose()
	c.from.Part(engine.Of(cx).Worker).Ended.Add(1)
	c.group.Origins.Unuse(c.from)
	c.group.Census.Leave(c.is(outbound))
	return true
}

func (c *Conn) callOnClose() {
	if c.is(onCloseCalled) {
		return // OnClose has ended the goroutine
	}
	c.flags |= onCloseCalled
	c.call(func() { c.handler.OnClose(c, c.cause) })
}
