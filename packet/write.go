package packet

import (
	"errors"
	"net"
	"net/netip"
	"syscall"

	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
)

// WriteTo queues a copy of p as one datagram. The zero AddrPort is the peer of a connected socket.
// All datagrams that are queued while a handler runs leave in one system call.
//
// On a socket that is bound to an unspecified address, a datagram that OnPackets sends to a sender
// of its batch leaves from that batch's destination address (Linux). The kernel chooses the source
// of all other datagrams, and of answers to datagrams that went to a group or a broadcast address.
// To answer later, use WriteFrom or Handle.SendFrom.
//
// While Config.MaxWrite bytes are queued, the error is ErrWriteQueueFull. Other errors are
// *net.OpError. They match net.ErrClosed after Close, syscall.EMSGSIZE for a datagram that is too
// long, and syscall.EAFNOSUPPORT for an address of another family. After an error nothing is
// queued. OnError gets the errors with which the kernel refuses the datagram later.
func (c *Conn) WriteTo(p []byte, to netip.AddrPort) error {
	to = unmapped(to)
	return c.WriteFrom(p, c.answers.source(to), to)
}

// WriteFrom is WriteTo for a datagram that leaves from an address of this host, such as Packet.To
// of the datagram that it answers (WantDestination). An invalid from leaves the choice to the
// kernel. OnError gets the error of an address that is not this host's, or that is a group's. Only
// Linux uses from.
func (c *Conn) WriteFrom(p []byte, from netip.Addr, to netip.AddrPort) error {
	from, to = from.Unmap(), unmapped(to)
	return c.write(from, to, func(b *reactor.Batch) error { return b.Add(p, to) })
}

// WriteSegments splits p into datagrams of segment bytes and queues them. The last one may be
// shorter. With UDP_SEGMENT (Linux 4.18) they cost little more than one datagram. Their source, and
// errors, are those of WriteTo, and EINVAL if segment is not positive.
func (c *Conn) WriteSegments(p []byte, segment int, to netip.AddrPort) error {
	to = unmapped(to)
	return c.write(c.answers.source(to), to, func(b *reactor.Batch) error { return b.AddSegments(p, segment, to) })
}

// unmapped is an address in the form in which senders are known: one of IPv4 is not mapped into
// IPv6.
func unmapped(a netip.AddrPort) netip.AddrPort {
	if a.Addr().Is4In6() {
		return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
	}
	return a
}

func (c *Conn) write(from netip.Addr, to netip.AddrPort, add func(*reactor.Batch) error) error {
	if c.is(closing | broken) {
		return c.opError("write", to, net.ErrClosed)
	}
	return c.queue(from, to, add)
}

// queue is write, also for a socket that is closing.
func (c *Conn) queue(from netip.Addr, to netip.AddrPort, add func(*reactor.Batch) error) error {
	if c.Unsent() >= c.group.MaxWrite {
		c.from.Part(c.driver.Worker).Dropped[engine.QueueFull].Add(1)
		return ErrWriteQueueFull
	}
	if c.out == nil {
		c.out = localOf(c.driver).batch(c.kind)
	}
	c.out.From = from
	if err := add(c.out); err != nil {
		var errno syscall.Errno
		if errors.As(err, &errno) {
			err = sock.Error("sendto", errno)
		}
		return c.opError("write", to, err)
	}
	for _, notify := range c.sent {
		notify(from, to)
	}
	return nil
}

// Unsent returns the number of queued bytes that the kernel has not taken yet. 64 bytes are added
// for each datagram. It may count a batch that was sent a moment ago.
func (c *Conn) Unsent() int { return costOf(c.out) + c.inFlight }

// Flush passes the queued datagrams to the kernel. If a batch is in flight, they follow when it has
// ended.
func (c *Conn) Flush() error {
	if c.is(broken) {
		return c.opError("write", netip.AddrPort{}, net.ErrClosed)
	}
	c.send(c.is(closing), true)
	return nil
}

// send starts a send if datagrams are queued and no batch is in flight. It returns Unsent. With
// wakeAtEnd the task runs again when the batch in flight ends. That wake-up is not missed, since
// c.mu guards both flight and wakeAtEnd. early: the handler may queue datagrams that wait for that
// end.
//
// A reactor that holds does not return for a batch whose end nobody waits for (patient). If the
// task begins to wait for one, it wakes the reactor. The batch has then not been submitted to the
// kernel, or its completion is there already: in both cases the next Poll finds the completion, or
// returns with the next one.
func (c *Conn) send(wakeAtEnd, early bool) int {
	c.mu.Lock()
	in := &c.inbox
	start := in.flight == nil && in.failed == nil && c.out != nil && c.out.Len() > 0
	if start {
		in.flight, c.out = c.out, nil
	}
	in.wakeAtEnd = wakeAtEnd || c.out != nil
	hurry := in.flight != nil && in.wakeAtEnd && in.patient
	if start {
		hurry, in.patient = false, !in.wakeAtEnd && !early
	} else if hurry {
		in.patient = false
	}
	patient := in.patient
	in.queued = costOf(c.out)
	c.inFlight = costOf(in.flight)
	b := in.flight
	c.mu.Unlock()
	if start {
		c.transmit(b, patient)
	}
	if hurry {
		_ = c.outgoing.R.Wake() // it fails only once the reactor is closed
	}
	return c.Unsent()
}

// transmit submits a batch. The batch must not be used until its completion, unless Submit reports
// that the backend is done with it.
func (c *Conn) transmit(b *reactor.Batch, patient bool) {
	d := c.driver
	c.outgoing = d.Via(c.home)
	if c.home == nil {
		c.home = c.outgoing
	}
	err := d.Submit(c.outgoing, reactor.Op{Kind: reactor.SendTo, FD: c.end.FD, Token: c.end.Token, Batch: b, NoWait: patient})
	if err == nil && d.Op.Sent == 0 {
		return
	}
	if err != nil {
		c.fail(c.opError("write", netip.AddrPort{}, err))
	}
	c.mu.Lock()
	wake := c.inbox.endFlight(d, c.from)
	c.inFlight = 0
	c.mu.Unlock()
	if wake {
		d.Cx.Wake(c.task.Waker())
	}
}

// sendFailed handles a batch in which datagrams failed, or that met errors of earlier ones.
func (c *Conn) sendFailed(b *reactor.Batch) {
	tell := func(to netip.AddrPort, errno syscall.Errno) {
		if !c.is(closing | broken) {
			c.check(c.handler.OnError(c, c.opError("write", to, sock.Error("sendto", errno))))
		}
	}
	for _, errno := range b.Earlier {
		tell(netip.AddrPort{}, errno)
	}
	for _, f := range b.Failed {
		n, _ := lost(b, f)
		c.from.Part(c.driver.Worker).Dropped[engine.SendFailed].Add(uint64(n))
		tell(b.To(f.Index), f.Errno)
	}
}
