package reactor

import (
	"encoding/binary"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// The kernel's numbers in control messages are in the machine's byte order: two bytes to be sent
// (UDP_SEGMENT), an int that is received (UDP_GRO).
func TestSegmentsAreNumbersOfTheMachine(t *testing.T) {
	for _, length := range []int{1, 100, 255, 256, 1200, 65507} {
		var part rawDatagram
		var h unix.Msghdr
		part.setSegment(&h, length)
		control := unsafe.Slice(h.Control, int(h.Controllen))
		all, err := unix.ParseSocketControlMessage(control)
		require.NoError(t, err)
		require.Len(t, all, 1)
		require.Equal(t, []int32{unix.SOL_UDP, unix.UDP_SEGMENT}, []int32{all[0].Header.Level, all[0].Header.Type})
		require.Equal(t, binary.NativeEndian.AppendUint16(nil, uint16(length)), all[0].Data)

		received := make([]byte, unix.CmsgSpace(4))
		c := (*unix.Cmsghdr)(unsafe.Pointer(&received[0]))
		c.Level, c.Type = unix.SOL_UDP, unix.UDP_GRO
		c.SetLen(unix.CmsgLen(4))
		binary.NativeEndian.PutUint32(received[unix.CmsgLen(0):], uint32(length))
		var got Packet
		got.parseControl(received)
		require.Equal(t, length, got.Segment)
	}
}
