//go:build unix || windows

package reactor

import "encoding/binary"

// A datagram is stored in its buffer in the layout of io_uring's multishot recvmsg. First is a
// header, struct io_uring_recvmsg_out: the lengths of name, control and payload, and flags. Then
// follow the sender's address, control messages, and the payload, which begins a cache line. All
// backends use this layout, so that one function reads it.
const (
	packetName    = 16
	packetControl = packetName + 32
	nameRoom      = packetControl - packetName
	controlRoom   = packetPayload - packetControl
)

// packetStride is the distance of the buffers. It is not a multiple of the page size. Otherwise the
// beginnings of all buffers, often the only part that is touched, would compete for the same few
// sets of the processor's caches.
func packetStride(size int) int { return (packetPayload+size+63)/64*64 + 64 }

// setPacketHeader writes the header that io_uring would have written.
func setPacketHeader(p []byte, name, control, payload uint32, flags uint32) {
	for i, v := range [4]uint32{name, control, payload, flags} {
		binary.NativeEndian.PutUint32(p[4*i:], v)
	}
}

func parsePacket(p []byte) Packet {
	word := func(i int) uint32 { return binary.NativeEndian.Uint32(p[4*i:]) }
	name := p[packetName:][:min(word(0), nameRoom)]
	control := p[packetControl:][:min(word(1), controlRoom)]
	got := Packet{
		From:      ParseSockaddr(name),
		Truncated: word(3)&msgTrunc != 0,
		Payload:   p[packetPayload:],
	}
	if len(control) > 0 {
		got.parseControl(control)
	}
	return got
}
