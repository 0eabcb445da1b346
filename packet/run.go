package packet

import (
	"net"
	"net/netip"
	"slices"
	"syscall"

	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/panics"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// maxBatch is the number of packets after which a batch of OnPackets ends. Joined datagrams may
// exceed it.
const maxBatch = 256

// A connTask is a Conn as the scheduler sees it. Its methods are not part of Conn's API.
type connTask Conn

var _ sched.Survivor = (*connTask)(nil)

// Run implements sched.Body.
func (t *connTask) Run(cx *sched.Context) (done bool) {
	c := (*Conn)(t)
	c.driver = engine.Of(cx)
	if c.closed != 0 {
		return c.over(cx)
	}
	var ev events
	c.collect(&ev)
	defer c.releaseEvents(&ev) // if a handler ends the goroutine: see Exited
	c.call(func() { c.work(&ev) })
	c.releaseEvents(&ev)
	return c.settle(cx)
}

// releaseEvents gives the memory of a run's events back, also of those that were not handled.
func (c *Conn) releaseEvents(ev *events) {
	ev.release(c.home, len(ev.chunks)) // after a panic or an exit
	if ev.recvEnded {
		ev.recvEnded = false
		c.flags &^= receiving | stopping
	}
	c.driver.Recycle(ev.chunks)
	ev.chunks, ev.next = nil, 0
	if ev.failed != nil {
		localOf(c.driver).putBatch(ev.failed)
		ev.failed = nil
	}
}

// Exited implements sched.Survivor. It is called after a run in which a handler called
// runtime.Goexit. The next run tears the socket down.
func (t *connTask) Exited(*sched.Context) {
	c := (*Conn)(t)
	c.group.Logger.Error("packet: handler called runtime.Goexit", "local", c.local)
	c.fail(sched.ErrGoexit)
}

// work calls the handler for the events. settle then submits operations or tears the socket down.
func (c *Conn) work(ev *events) {
	if !c.is(opened | broken) {
		c.flags |= opened
		c.check(c.handler.OnOpen(c))
	}
	if ev.failed != nil {
		c.sendFailed(ev.failed)
	}
	for i := range ev.commands {
		c.exec(&ev.commands[i])
	}
	c.receive(ev)
	if ev.recvEnded {
		c.recvEnd(ev.recvErrno)
	}
	c.checkClock()
	if !c.is(drained) && c.group.Draining(c.is(outbound)) {
		c.drain()
	}
}

// drain calls OnDrain, or aborts the socket if the group is aborting.
func (c *Conn) drain() {
	switch {
	case c.group.Aborting():
		c.Abort()
	case !c.is(closing | broken):
		c.flags |= drained
		c.drainTasks()
		c.handler.OnDrain(c)
	}
}

// call calls f, which may call the handler. A panic closes the socket.
func (c *Conn) call(f func()) {
	if p := (*PanicError)(panics.Try(f)); p != nil {
		c.group.HandlerPanicked(p, c.handler, c.logAttr())
		c.fail(p)
	}
}

// receive passes the received datagrams to the handler, and releases them.
func (c *Conn) receive(ev *events) {
	for ev.next < len(ev.chunks) {
		batch := localOf(c.driver).packets[:0]
		last := ev.next
		for ; last < len(ev.chunks) && len(batch) < maxBatch; last++ {
			n := len(batch)
			batch = appendPackets(batch, ev.chunks[last])
			if n > 0 && !sameSource(&batch[0], &batch[n]) {
				batch = batch[:n]
				break
			}
		}
		c.answers.hide(batch)
		localOf(c.driver).packets = batch[:0]
		c.countReceived(batch)
		if !c.is(closing | broken) {
			c.answers.begin(batch)
			c.check(c.handler.OnPackets(c, batch))
		}
		c.answers.end()
		clear(batch)
		ev.release(c.home, last)
	}
}

func (c *Conn) countReceived(batch []Packet) {
	bytes := 0
	for i := range batch {
		bytes += len(batch[i].Data)
	}
	p := c.from.Part(c.driver.Worker)
	if c.is(closing | broken) {
		p.Dropped[engine.SocketClosed].Add(uint64(len(batch)))
		return
	}
	p.In.Add(uint64(len(batch)))
	p.Received.Add(uint64(bytes))
}

// release gives the chunks before index last back.
func (ev *events) release(home *engine.Driver, last int) {
	if ev.next < last {
		reactor.ReleasePackets(home.R, ev.chunks[ev.next:last])
		ev.next = last
	}
}

// appendPackets appends the datagrams in a buffer. With UDP_GRO there may be several.
func appendPackets(batch []Packet, b reactor.Buffer) []Packet {
	got := b.Packet()
	batch = append(batch, Packet{})
	p := &batch[len(batch)-1]
	p.Data, p.From, p.Truncated = got.Payload, got.From, got.Truncated
	p.To, p.Interface = got.To, got.Interface
	p.to, p.device, p.unicast = got.To, got.Interface, got.Unicast
	p.ECN, p.TTL, p.at = got.ECN, got.TTL, got.Time
	if got.Segment <= 0 || got.Segment >= len(got.Payload) {
		return batch
	}
	return appendSegments(batch[:len(batch)-1], *p, &got)
}

func appendSegments(batch []Packet, p Packet, got *reactor.Packet) []Packet {
	for rest := got.Payload; len(rest) > 0; {
		size := min(len(rest), got.Segment)
		p.Data, rest = rest[:size:size], rest[size:]
		p.Truncated = got.Truncated && len(rest) == 0
		batch = append(batch, p)
	}
	return batch
}

// fatalErrors say that the descriptor is no socket any more. All other errors of a receive concern
// a datagram, and the socket goes on: ICMP messages alone have a dozen errnos.
var fatalErrors = []syscall.Errno{syscall.EBADF, syscall.ENOTSOCK}

func (c *Conn) recvEnd(errno syscall.Errno) {
	switch errno {
	case 0, syscall.ECANCELED, syscall.EAGAIN, syscall.EINTR, syscall.ENOBUFS:
		return // settle receives again, unless the socket is closing
	}
	if c.is(closing | broken) {
		return
	}
	if c.severed() {
		c.fail(c.opError("read", netip.AddrPort{}, net.ErrClosed))
		return
	}
	err := c.opError("read", netip.AddrPort{}, sock.Error("recvmsg", errno))
	if slices.Contains(fatalErrors, errno) {
		c.fail(err)
		return
	}
	c.check(c.handler.OnError(c, err))
}

func (c *Conn) exec(cmd *command) {
	switch cmd.kind {
	case cmdSend:
		c.sendFor(cmd)
	case cmdDo:
		if !c.is(broken) {
			cmd.do(c)
		}
	case cmdSession:
		cmd.do(c)
	case cmdClose:
		if !c.is(closing | broken) {
			_ = c.Close()
		}
	case cmdAbort:
		c.Abort()
	case cmdDrain:
		c.drain()
	}
}

// sendFor queues a datagram that Handle.Send has accepted, also while the socket is closing: Close
// was called later.
func (c *Conn) sendFor(cmd *command) {
	if c.is(broken) {
		c.countDropped(1)
		return
	}
	from, to := cmd.from.Unmap(), unmapped(cmd.to)
	err := c.queue(from, to, func(b *reactor.Batch) error { return b.Add(cmd.data, to) })
	switch {
	case err == nil || err == ErrWriteQueueFull && c.is(closing): // queue has counted the latter
	case c.is(closing):
		c.countDropped(1)
	default:
		c.check(c.handler.OnError(c, err))
	}
}

// settle submits the sends and the receive that follow from a run. It reports whether the task is
// done.
func (c *Conn) settle(cx *sched.Context) (done bool) {
	if !c.is(broken) {
		if c.send(c.is(closing), false) == 0 && c.is(closing) && !c.sendsWait() {
			c.flags |= broken
		}
	}
	if !c.is(receiving | closing | broken) {
		// All data of the last receive has been handled. So the next one may go to another
		// reactor.
		c.home = c.driver.Via(c.home)
		err := c.driver.Submit(c.home, reactor.Op{Kind: reactor.RecvFrom, FD: c.end.FD, Token: c.end.Token})
		if err != nil {
			c.fail(c.opError("read", netip.AddrPort{}, err))
		} else {
			c.flags |= receiving
		}
	}
	if c.is(broken) {
		return c.tearDown(cx)
	}
	c.armClock()
	return false
}
