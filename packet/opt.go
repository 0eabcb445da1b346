package packet

import (
	"net"
	"net/netip"

	"github.com/suiro-go/suiro/internal/sock"
)

// SetReadBuffer sets the size of the kernel's receive buffer, in bytes. The system's limit
// (net.core.rmem_max) bounds it silently.
func (c *Conn) SetReadBuffer(bytes int) error {
	return c.setOption(sock.SetReadBuffer(c.end.FD, bytes))
}

// SetWriteBuffer sets the size of the kernel's send buffer, in bytes, bounded by
// net.core.wmem_max.
func (c *Conn) SetWriteBuffer(bytes int) error {
	return c.setOption(sock.SetWriteBuffer(c.end.FD, bytes))
}

// JoinGroup makes the socket receive the datagrams of a multicast group on an interface. With nil
// it is that of the group's zone. Without a zone the system chooses the interface.
func (c *Conn) JoinGroup(ifi *net.Interface, group netip.Addr) error {
	return c.setOption(sock.SetMembership(c.end.FD, ifi, group, true))
}

// LeaveGroup undoes JoinGroup.
func (c *Conn) LeaveGroup(ifi *net.Interface, group netip.Addr) error {
	return c.setOption(sock.SetMembership(c.end.FD, ifi, group, false))
}

// SetMulticastInterface sets the interface on which multicast leaves the machine.
func (c *Conn) SetMulticastInterface(ifi *net.Interface) error {
	return c.setOption(sock.SetMulticastInterface(c.end.FD, c.kind.Wide, ifi))
}

// SetMulticastTTL sets the TTL of multicast, 0 to 255. The system's default is 1: no router passes
// it on.
func (c *Conn) SetMulticastTTL(ttl int) error {
	return c.setOption(sock.SetMulticastTTL(c.end.FD, c.kind.Wide, ttl))
}

// SetMulticastLoopback sets whether sockets of this machine receive the multicast that this socket
// sends to their groups. The system's default is true.
func (c *Conn) SetMulticastLoopback(on bool) error {
	return c.setOption(sock.SetMulticastLoopback(c.end.FD, c.kind.Wide, on))
}

// WantDestination makes the socket set Packet.To and Packet.Interface. It costs a control message
// for each datagram. On Linux the kernel sends that message anyway to a socket that is bound to an
// unspecified address: see WriteTo.
func (c *Conn) WantDestination(on bool) error {
	if c.answers.on {
		if c.answers.shown = on; !c.is(broken) {
			return nil
		}
	}
	return c.setOption(sock.WantDestination(c.end.FD, c.kind.Wide, on))
}

// WantECN makes the socket set Packet.ECN. On systems other than Linux the error of this method, of
// WantTTL, WantTimes, SetECN and SetTTL matches errors.ErrUnsupported. Each Want costs a control
// message for each datagram.
func (c *Conn) WantECN(on bool) error { return c.setOption(sock.WantECN(c.end.FD, c.kind.Wide, on)) }

// WantTTL makes the socket set Packet.TTL.
func (c *Conn) WantTTL(on bool) error { return c.setOption(sock.WantTTL(c.end.FD, c.kind.Wide, on)) }

// WantTimes makes the socket set Packet.Time: when the kernel has received the datagram.
func (c *Conn) WantTimes(on bool) error { return c.setOption(sock.WantTimes(c.end.FD, on)) }

// SetECN sets the ECN bits of all datagrams that are sent from now on, 0 to 3.
func (c *Conn) SetECN(bits int) error { return c.setOption(sock.SetECN(c.end.FD, c.kind.Wide, bits)) }

// SetTTL sets the TTL, or the hop limit, of unicast datagrams, 1 to 255.
func (c *Conn) SetTTL(ttl int) error { return c.setOption(sock.SetTTL(c.end.FD, c.kind.Wide, ttl)) }

// WantCoalesced allows the kernel to join several datagrams of one sender (UDP_GRO, Linux 5.0).
// This is much cheaper under load. OnPackets gets single datagrams all the same. It needs buffers
// of the default reactor.Config.DatagramSize. On other systems the error matches
// errors.ErrUnsupported.
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
