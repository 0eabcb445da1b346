package packet

import (
	"net/netip"
	"runtime/debug"
	"slices"
	"syscall"

	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// maxBatch is how many packets one call of OnPackets is given.
const maxBatch = 256

// A connTask is a Conn as the scheduler sees it: users who hold a Conn do not see these methods.
type connTask Conn

var _ sched.Survivor = (*connTask)(nil)

// Run implements sched.Body.
func (t *connTask) Run(cx *sched.Context) (done bool) {
	c := (*Conn)(t)
	c.driver = engine.Of(cx)
	if c.closed != 0 {
		return c.over(cx)
	}
	var n news
	c.collect(&n)
	defer c.dropNews(&n) // if a handler ends the goroutine: see Exited
	c.work(&n)
	c.dropNews(&n)
	return c.settle(cx)
}

// dropNews gives back what a run has brought, whether it was dealt with or not.
func (c *Conn) dropNews(n *news) {
	n.release(c.home, len(n.chunks)) // after a panic or an exit
	if n.recvEnded {
		n.recvEnded = false
		c.flags &^= receiving | stopping
	}
	c.driver.Recycle(n.chunks)
	n.chunks, n.next = nil, 0
	if n.landed != nil {
		localOf(c.driver).putBatch(n.landed)
		n.landed = nil
	}
}

// Exited implements sched.Survivor: it is called after a run in which a handler has ended the
// goroutine. The next run tears the socket down.
func (t *connTask) Exited(*sched.Context) {
	c := (*Conn)(t)
	c.group.Logger.Error("packet: handler called runtime.Goexit", "local", c.local)
	c.fail(sched.ErrGoexit)
}

// work calls the handler as the news demands; settle draws the consequences.
func (c *Conn) work(n *news) {
	defer c.recoverPanic()
	if !c.is(opened | broken) {
		c.flags |= opened
		c.check(c.handler.OnOpen(c))
	}
	if n.landed != nil {
		c.landed(n.landed, n.landedNotes)
	}
	for i := range n.commands {
		c.exec(&n.commands[i])
	}
	c.receive(n)
	if n.recvEnded {
		c.recvEnd(n.recvErrno)
	}
	c.checkClock()
	if !c.is(drained) && c.group.Draining(c.is(outbound)) {
		c.drain()
	}
}

// drain tells the handler.
func (c *Conn) drain() {
	switch {
	case c.group.Aborting():
		c.Abort()
	case !c.is(closing | broken):
		c.flags |= drained
		c.handler.OnDrain(c)
	}
}

func (c *Conn) recoverPanic() {
	v := recover()
	if v == nil {
		return
	}
	err := &PanicError{Value: v, Stack: debug.Stack()}
	c.group.HandlerPanicked(err, c.handler, c.logAttr())
	c.fail(err)
}

// receive gives the handler what has come, and releases it.
func (c *Conn) receive(n *news) {
	for n.next < len(n.chunks) {
		batch := localOf(c.driver).packets[:0]
		last := n.next
		for ; last < len(n.chunks) && len(batch) < maxBatch; last++ {
			batch = appendPackets(batch, n.chunks[last])
		}
		localOf(c.driver).packets = batch[:0]
		if !c.is(closing | broken) {
			c.check(c.handler.OnPackets(c, batch))
		}
		clear(batch)
		n.release(c.home, last)
	}
}

// release gives the chunks before the last-th back.
func (n *news) release(home *engine.Driver, last int) {
	if n.next < last {
		reactor.ReleasePackets(home.R, n.chunks[n.next:last])
		n.next = last
	}
}

// appendPackets takes a buffer apart, which is several datagrams with UDP_GRO.
func appendPackets(batch []Packet, b reactor.Buffer) []Packet {
	got := b.Packet()
	batch = append(batch, Packet{})
	p := &batch[len(batch)-1]
	p.Data, p.From, p.Truncated = got.Payload, got.From, got.Truncated
	p.To, p.Interface = got.To, got.Interface
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

// passing are errors of the network that concern some datagram, not the socket.
var passing = []syscall.Errno{
	syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.EHOSTDOWN,
	syscall.ENETDOWN, syscall.EMSGSIZE, syscall.ETIMEDOUT, syscall.EACCES, syscall.EPERM, syscall.ENOPROTOOPT,
	syscall.ENOMEM,
}

func (c *Conn) recvEnd(errno syscall.Errno) {
	switch errno {
	case 0, syscall.ECANCELED, syscall.EAGAIN, syscall.EINTR, syscall.ENOBUFS:
		return // settle receives again if that is wanted
	}
	if c.is(closing | broken) {
		return
	}
	err := c.opError("read", netip.AddrPort{}, sock.Error("recvmsg", errno))
	if !slices.Contains(passing, errno) {
		c.fail(err)
		return
	}
	c.check(c.handler.OnError(c, err))
}

func (c *Conn) exec(cmd *command) {
	switch cmd.kind {
	case cmdSend:
		if cmd.asks.w != nil {
			cmd.asks.write(c, cmd.to)
		} else if err := c.WriteTo(cmd.data, cmd.to); err != nil && !c.is(closing|broken) {
			c.check(c.handler.OnError(c, err))
		}
	case cmdDo:
		if !c.is(broken) {
			cmd.do(c)
		}
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

// settle hands the kernel what has come of a run, and reports whether the socket is
// over.
func (c *Conn) settle(cx *sched.Context) (done bool) {
	if !c.is(broken) {
		if c.send(c.is(closing)) == 0 && c.is(closing) {
			c.flags |= broken
		}
	}
	if !c.is(receiving | closing | broken) {
		// What the receive before brought has been dealt with, so that this one may
		// go to another reactor.
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
