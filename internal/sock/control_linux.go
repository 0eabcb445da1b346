package sock

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"
)

// CutSegment takes the message of UDP_GRO out of control messages. It returns the others, in place,
// and the length of the datagrams that the kernel has joined. 0: it is one datagram.
func CutSegment(control []byte) (others []byte, segment int) {
	for at := 0; ; {
		padded, length := controlLen(control[at:])
		if padded == 0 {
			return control, segment
		}
		h := (*unix.Cmsghdr)(unsafe.Pointer(&control[at]))
		if h.Level != unix.SOL_UDP || h.Type != udpGRO || length < unix.CmsgLen(4) {
			at += padded
			continue
		}
		// The kernel writes an int, in the machine's byte order.
		segment = int(int32(binary.NativeEndian.Uint32(control[at+unix.CmsgLen(0):])))
		control = append(control[:at], control[at+padded:]...)
	}
}
