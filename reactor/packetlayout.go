//go:build unix || windows

package reactor

import "encoding/binary"

// How a datagram lies in its buffer: as io_uring's multishot recvmsg lays it out
// for this much room, that is a header (struct io_uring_recvmsg_out: the lengths of
// name, control and payload, and flags), the sender's address, control messages,
// and the payload, which begins a cache line. epoll's receives are laid out the
// same, so that one function reads them.
const (
	packetName    = 16
	packetControl = packetName + 32
	nameRoom      = packetControl - packetName
	controlRoom   = packetPayload - packetControl
)

// packetStride is the distance of the buffers. It is no multiple of the page size:
// then the beginnings of all buffers, often all of them that is touched, would
// compete for the same few places in the processor's caches.
func packetStride(size int) int { return (packetPayload+size+63)/64*64 + 64 }

// setPacketHeader writes what io_uring would have written.
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
