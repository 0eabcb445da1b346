package packet

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"syscall"

	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
)

// WriteTo queues a copy of p as one datagram; the zero AddrPort is the peer of a
// connected socket. Everything queued while a handler runs leaves in one system
// call. Errors: ErrWriteQueueFull when Config.MaxWrite bytes are queued, a
// *net.OpError that matches net.ErrClosed after Close, syscall.EMSGSIZE for what fits
// no packet, and syscall.EAFNOSUPPORT for an address that the socket cannot send to;
// then nothing is queued. What the kernel says of it later, OnError is told.
func (c *Conn) WriteTo(p []byte, to netip.AddrPort) error {
	return c.write(to, func(b *reactor.Batch) error { return b.Add(p, to) })
}

// WriteSegments queues the datagrams that p is made of, each of that length but for
// the last, which may be shorter. Where the kernel can (UDP_SEGMENT, Linux 4.18),
// they cost little more than one. Errors are WriteTo's, and EINVAL if segment is not
// positive.
func (c *Conn) WriteSegments(p []byte, segment int, to netip.AddrPort) error {
	return c.write(to, func(b *reactor.Batch) error { return b.AddSegments(p, segment, to) })
}

func (c *Conn) write(to netip.AddrPort, add func(*reactor.Batch) error) error {
	switch {
	case c.is(closing | broken):
		return c.opError("write", to, net.ErrClosed)
	case c.Unsent() >= c.group.MaxWrite:
		return ErrWriteQueueFull
	}
	if c.out == nil {
		c.out = localOf(c.driver).batch(c.kind)
	}
	if err := add(c.out); err != nil {
		var errno syscall.Errno
		if errors.As(err, &errno) {
			err = sock.Error("sendto", errno)
		}
		return c.opError("write", to, err)
	}
	for _, tell := range c.sent {
		tell(to)
	}
	return nil
}

// Unsent is the number of bytes queued that the kernel has not taken yet, as far as
// the socket has heard, with 64 more for each datagram.
func (c *Conn) Unsent() int { return costOf(c.out) + c.inFlight }

// Flush hands what was written so far to the kernel, unless a batch is in flight:
// then it follows that.
func (c *Conn) Flush() error {
	if c.is(broken) {
		return c.opError("write", netip.AddrPort{}, net.ErrClosed)
	}
	c.send(c.is(closing))
	return nil
}

// send starts a send if something is queued and nothing in flight, and returns what
// is unsent. With tell the task runs again when the batch in flight ends; why that
// is not missed is said at Conn.send.
func (c *Conn) send(tell bool) int {
	c.mu.Lock()
	in := &c.inbox
	start := in.flight == nil && in.landed == nil && c.out != nil && c.out.Len() > 0
	if start {
		in.flight, in.flightNotes = c.out, c.notes
		c.out, c.notes = nil, nil
	}
	in.tellEnd = tell || c.out != nil
	in.queued = costOf(c.out)
	c.inFlight = costOf(in.flight)
	b := in.flight
	c.mu.Unlock()
	if start {
		c.transmit(b)
	}
	return c.Unsent()
}

// transmit hands the kernel a batch. Once submitted it is not to be touched, unless
// the backend says that it is done with it.
func (c *Conn) transmit(b *reactor.Batch) {
	d := c.driver
	c.outgoing = d.Via(c.home)
	if c.home == nil {
		c.home = c.outgoing
	}
	err := d.Submit(c.outgoing, reactor.Op{Kind: reactor.SendTo, FD: c.end.FD, Token: c.end.Token, Batch: b})
	if err == nil && d.Op.Sent == 0 {
		return
	}
	if err != nil {
		c.fail(c.opError("write", netip.AddrPort{}, err))
		for i := range b.Len() { // those who asked are to know
			b.Failed = append(b.Failed, reactor.Failure{Index: i, Errno: syscall.ECANCELED})
		}
	}
	c.mu.Lock()
	wake := c.inbox.land(d)
	c.inFlight = 0
	c.mu.Unlock()
	if wake {
		d.Cx.Wake(c.task.Waker())
	}
}

// landed deals with a batch of which something failed or somebody asked.
func (c *Conn) landed(b *reactor.Batch, notes []note) {
	failure := func(index int) error {
		for _, f := range b.Failed { // in any order, and few
			switch {
			case f.Index == index && f.Errno == syscall.ECANCELED: // by us, to close the socket
				return c.opError("write", b.To(index), net.ErrClosed)
			case f.Index == index:
				return c.opError("write", b.To(index), sock.Error("sendto", f.Errno))
			}
		}
		return nil
	}
	for _, n := range notes {
		n.tell(failure(n.index))
	}
	for _, f := range b.Failed {
		if b.Segment(f.Index) > 0 && c.resend(b, f) {
			continue
		}
		asked := slices.ContainsFunc(notes, func(n note) bool { return n.index == f.Index })
		if !asked && !c.is(closing|broken) {
			c.check(c.handler.OnError(c, failure(f.Index)))
		}
	}
}

// resend queues segments as single datagrams, if what the kernel refuses is their
// being segments: the interface cannot take them whole, or what is to be done to
// packets (IPsec, no checksums) cannot be done to those.
func (c *Conn) resend(b *reactor.Batch, f reactor.Failure) bool {
	switch f.Errno {
	case syscall.EINVAL, syscall.EIO, syscall.EMSGSIZE:
	default:
		return false
	}
	if c.is(broken) {
		return false
	}
	if f.Errno != syscall.EMSGSIZE {
		c.kind.NoSegments = true
	}
	if c.out == nil {
		c.out = localOf(c.driver).batch(c.kind)
	}
	c.out.NoSegments = c.out.NoSegments || c.kind.NoSegments
	join := c.out.Join
	c.out.Join = false
	for p := range slices.Chunk(b.Payload(f.Index), b.Segment(f.Index)) {
		_ = c.out.Add(p, b.To(f.Index)) // it has been added once
	}
	c.out.Join = join
	return true
}
