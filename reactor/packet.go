package reactor

import "net/netip"

// A Packet is what a RecvFrom completion brought: one datagram, or with UDP_GRO
// several of one sender and of the same length.
type Packet struct {
	From      netip.AddrPort // the sender; IPv4 as such also on an IPv6 socket; invalid if the kernel does not say
	To        netip.Addr     // the address it was sent to, with IP_PKTINFO or IPV6_RECVPKTINFO; else invalid
	Interface int            // the index of the interface it came by, with those; else 0
	Segment   int            // with UDP_GRO: the length of the datagrams in Payload, the last of which may be shorter; 0: it is one
	Truncated bool           // Payload is only the beginning: the rest is lost
	Payload   []byte         // valid until the Buffer is released
}

// A PacketReleaser is a Reactor that takes the buffers of many RecvFrom completions
// back at once, with Release's rules, for less than one by one.
type PacketReleaser interface {
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

// Packet reads the buffer of a RecvFrom completion. Any goroutine that may use
// the buffer may call it; it allocates nothing but, now and then, the name of a
// zone.
func (b Buffer) Packet() Packet { return parsePacket(b.Bytes) }
