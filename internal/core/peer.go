package core

import (
	"net/netip"
	"time"

	"github.com/suiro-go/suiro/internal/engine"
)

// A peer is the IP address of a connection's peer in 16 bytes; a netip.Addr has 24. The zero peer
// belongs to a Unix socket. The zone of an address, which few have, lies in the extras.
type peer [16]byte

// unspecifiedPeer stands for [::], which is also the address of an unknown peer. It is a multicast
// address, to which no connection can be made. A dial to it is marked in the extras, so that the
// kernel refuses it.
var unspecifiedPeer = peer(netip.IPv6LinkLocalAllNodes().As16())

// SetPeer notes the address of a TCP connection's peer.
func (c *Conn) SetPeer(addr netip.AddrPort) {
	c.peer, c.Port = addr.Addr().As16(), addr.Port()
	zone, exact := addr.Addr().Zone(), c.peer == unspecifiedPeer
	if c.local() { // invalid, or unspecified
		c.peer = unspecifiedPeer
	}
	if zone != "" || exact || c.Extras != nil {
		x := c.More()
		x.zone, x.exact = zone, exact
	}
}

// Peer is the address of a TCP connection's peer: [::] if it is not known. That of a Unix socket is
// not valid.
func (c *Conn) Peer() netip.Addr {
	switch {
	case c.local():
		return netip.Addr{}
	case c.peer == unspecifiedPeer && (c.Extras == nil || !c.Extras.exact):
		return netip.IPv6Unspecified()
	}
	ip := netip.AddrFrom16(c.peer).Unmap() // the kernel's IPv4 addresses are never in the other form
	if c.Extras != nil && c.Extras.zone != "" {
		ip = ip.WithZone(c.Extras.zone)
	}
	return ip
}

// local reports whether it is a Unix socket.
func (c *Conn) local() bool { return c.peer == peer{} }

// A mark is for figures: whose connection it is, and when it began. It is fixed before the
// connection is attached.
type mark struct {
	low    uint32 // microseconds of the runtime's time
	high   uint16
	origin uint16 // the number of its origin
}

func markOf(from *engine.Origin, now time.Duration) mark {
	us := uint64(now.Microseconds())
	return mark{low: uint32(us), high: uint16(us >> 32), origin: from.Number()}
}

func (m mark) began() time.Duration {
	return time.Duration(uint64(m.high)<<32|uint64(m.low)) * time.Microsecond
}

// Origin is the origin of a connection, nil if it has none. Any goroutine may call it.
func (c *Conn) Origin() *engine.Origin { return c.Group.Engine.Origins.Numbered(c.mark.origin) }
