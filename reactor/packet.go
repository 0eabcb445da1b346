package reactor

import "net/netip"

// A Packet is the content of a RecvFrom completion: one datagram, or with UDP_GRO several of one
// sender and of the same length.
type Packet struct {
	From      netip.AddrPort // the sender; IPv4 in its own form also on an IPv6 socket; invalid if the kernel does not report it
	To        netip.Addr     // the address it was sent to, with IP_PKTINFO or IPV6_RECVPKTINFO; else invalid
	Interface int            // the index of the interface on which it arrived, with those options; else 0
	Segment   int            // with UDP_GRO: the length of the datagrams in Payload; the last may be shorter; 0: it is one
	Time      int64          // when the kernel received it, in nanoseconds of Unix time, with SO_TIMESTAMPNS (Linux); else 0
	ECN       uint8          // the two ECN bits, with IP_RECVTOS and IPV6_RECVTCLASS (Linux); else 0
	TTL       uint8          // the TTL or hop limit, with IP_RECVTTL and IPV6_RECVHOPLIMIT (Linux); else 0
	Unicast   bool           // To is an address of this host, not of a group or a broadcast, with IP_PKTINFO and on IPv6 with IPV6_RECVPKTINFO (Linux)
	Truncated bool           // Payload is only the beginning: the rest is lost
	Payload   []byte         // valid until the Buffer is released
}

// ParseControl reads control messages in the form of the system. It sets all fields but From,
// Truncated and Payload.
func ParseControl(control []byte) (p Packet) {
	p.parseControl(control)
	return p
}

// A PacketReleaser is a Reactor that takes the buffers of many RecvFrom completions back in one
// call. The rules are those of Release, and it costs less than one call for each.
type PacketReleaser interface {
	// ReleasePackets is Release of each of the buffers. Any goroutine may call it.
	ReleasePackets(bs []Buffer)
}

// ReleasePackets gives the buffers of RecvFrom completions of one reactor back to it.
func ReleasePackets(r Reactor, bs []Buffer) {
	if many, ok := r.(PacketReleaser); ok {
		many.ReleasePackets(bs)
		return
	}
	for _, b := range bs {
		r.Release(b)
	}
}

// Packet reads the buffer of a RecvFrom completion. Any goroutine that may use the buffer may call
// it. It allocates nothing except, rarely, the name of a zone.
func (b Buffer) Packet() Packet { return parsePacket(b.Bytes) }
