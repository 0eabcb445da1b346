package packet

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"syscall"

	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
)

// WriteTo queues a copy of p as one datagram. The zero AddrPort is the peer of a connected socket.
// All datagrams that are queued while a handler runs leave in one system call.
//
// While Config.MaxWrite bytes are queued, the error is ErrWriteQueueFull. Other errors are
// *net.OpError. They match net.ErrClosed after Close, syscall.EMSGSIZE for a datagram that is too
// long, and syscall.EAFNOSUPPORT for an address of another family. After an error nothing is
// queued. OnError gets the errors with which the kernel refuses the datagram later.
func (c *Conn) WriteTo(p []byte, to netip.AddrPort) error {
	return c.write(to, func(b *reactor.Batch) error { return b.Add(p, to) })
}

// WriteSegments splits p into datagrams of segment bytes and queues them. The last one may be
// shorter. With UDP_SEGMENT (Linux 4.18) they cost little more than one datagram. Errors are those
// of WriteTo, and EINVAL if segment is not positive.
func (c *Conn) WriteSegments(p []byte, segment int, to netip.AddrPort) error {
	return c.write(to, func(b *reactor.Batch) error { return b.AddSegments(p, segment, to) })
}

func (c *Conn) write(to netip.AddrPort, add func(*reactor.Batch) error) error {
	switch {
	case c.is(closing | broken):
		return c.opError("write", to, net.ErrClosed)
	case c.Unsent() >= c.group.MaxWrite:
		c.from.Part(c.driver.Worker).Dropped[engine.QueueFull].Add(1)
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
	for _, notify := range c.sent {
		notify(to)
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
	c.send(c.is(closing))
	return nil
}

// send starts a send if datagrams are queued and no batch is in flight. It returns Unsent. With
// wakeAtEnd the task runs again when the batch in flight ends. That wake-up is not missed, since
// c.mu guards both flight and wakeAtEnd.
func (c *Conn) send(wakeAtEnd bool) int {
	c.mu.Lock()
	in := &c.inbox
	start := in.flight == nil && in.failed == nil && c.out != nil && c.out.Len() > 0
	if start {
		in.flight, c.out = c.out, nil
	}
	in.wakeAtEnd = wakeAtEnd || c.out != nil
	in.queued = costOf(c.out)
	c.inFlight = costOf(in.flight)
	b := in.flight
	c.mu.Unlock()
	if start {
		c.transmit(b)
	}
	return c.Unsent()
}

// transmit submits a batch. The batch must not be used until its completion, unless Submit reports
// that the backend is done with it.
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
	}
	c.mu.Lock()
	wake := c.inbox.endFlight(d, c.from)
	c.inFlight = 0
	c.mu.Unlock()
	if wake {
		d.Cx.Wake(c.task.Waker())
	}
}

// sendFailed handles a batch in which at least one datagram failed.
func (c *Conn) sendFailed(b *reactor.Batch) {
	for _, f := range b.Failed {
		if b.Segment(f.Index) > 0 && c.resend(b, f) {
			continue
		}
		c.from.Part(c.driver.Worker).Dropped[engine.SendFailed].Add(uint64(segments(b, f.Index)))
		if !c.is(closing | broken) {
			c.check(c.handler.OnError(c, c.opError("write", b.To(f.Index), sock.Error("sendto", f.Errno))))
		}
	}
}

// resend queues segments as single datagrams, if the kernel refused them because they are segments.
// It does so if the interface cannot take them whole, or if it cannot process segments otherwise
// (IPsec, no checksums). resend reports whether it has queued them.
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
