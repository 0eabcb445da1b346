package packet

import (
	"net"
	"net/netip"

	"github.com/suiro-go/suiro/internal/sock"
)

// SetReadBuffer sets the size of the kernel's receive buffer, in bytes. What the
// system allows at most (net.core.rmem_max) bounds it silently.
func (c *Conn) SetReadBuffer(bytes int) error {
	return c.setOption(sock.SetReadBuffer(c.end.FD, bytes))
}

// SetWriteBuffer sets the size of the kernel's send buffer, in bytes, bounded by
// net.core.wmem_max.
func (c *Conn) SetWriteBuffer(bytes int) error {
	return c.setOption(sock.SetWriteBuffer(c.end.FD, bytes))
}

// JoinGroup has the socket receive what is sent to a multicast group on an interface;
// nil: on one of the system's choice.
func (c *Conn) JoinGroup(ifi *net.Interface, group netip.Addr) error {
	return c.setOption(sock.SetMembership(c.end.FD, ifi, group, true))
}

// LeaveGroup ends a JoinGroup.
func (c *Conn) LeaveGroup(ifi *net.Interface, group netip.Addr) error {
	return c.setOption(sock.SetMembership(c.end.FD, ifi, group, false))
}

// SetMulticastInterface sets where multicast leaves the machine.
func (c *Conn) SetMulticastInterface(ifi *net.Interface) error {
	return c.setOption(sock.SetMulticastInterface(c.end.FD, c.kind.Wide, ifi))
}

// SetMulticastTTL sets how many routers multicast passes, 0 to 255. The system's
// default is 1: none.
func (c *Conn) SetMulticastTTL(ttl int) error {
	return c.setOption(sock.SetMulticastTTL(c.end.FD, c.kind.Wide, ttl))
}

// SetMulticastLoopback says whether this machine's own sockets receive what this one
// sends to groups that they have joined. The system's default is yes.
func (c *Conn) SetMulticastLoopback(on bool) error {
	return c.setOption(sock.SetMulticastLoopback(c.end.FD, c.kind.Wide, on))
}

// WantDestination has Packet.To and Packet.Interface filled in, at the cost of a
// control message for each datagram.
func (c *Conn) WantDestination(on bool) error {
	return c.setOption(sock.WantDestination(c.end.FD, c.kind.Wide, on))
}

// WantCoalesced lets the kernel hand over several datagrams of one sender at once
// (UDP_GRO, Linux 5.0), which is much cheaper under load; OnPackets sees single ones
// all the same. The error matches errors.ErrUnsupported where there is no such thing.
// It needs buffers of the default reactor.Config.DatagramSize.
func (c *Conn) WantCoalesced(on bool) error {
	return c.setOption(sock.WantCoalesced(c.end.FD, on))
}

func (c *Conn) setOption(err error) error {
	switch {
	case err == nil:
		return nil
	case c.is(broken):
		return c.opError("set", netip.AddrPort{}, net.ErrClosed)
	default:
		return c.opError("set", netip.AddrPort{}, err)
	}
}
