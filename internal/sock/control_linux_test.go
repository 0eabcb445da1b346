package sock

import (
	"encoding/binary"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// appendControl is a control message behind others, as the kernel of this machine writes it.
func appendControl(b []byte, level, kind int32, data []byte) []byte {
	at := len(b)
	b = append(b, make([]byte, unix.CmsgSpace(len(data)))...)
	h := (*unix.Cmsghdr)(unsafe.Pointer(&b[at]))
	h.Level, h.Type = level, kind
	h.SetLen(unix.CmsgLen(len(data)))
	copy(b[at+unix.CmsgLen(0):], data)
	return b
}

func number(n uint32) []byte { return binary.NativeEndian.AppendUint32(nil, n) }

// The size of joined datagrams is an int of the kernel. A reader that takes two bytes of it, or
// another byte order, finds 0 or 65,536 times as much on one kind of machine.
func TestTheSizeOfJoinedDatagramsIsAnIntOfTheMachine(t *testing.T) {
	tos := appendControl(nil, unix.IPPROTO_IP, unix.IP_TOS, []byte{2})
	ttl := appendControl(nil, unix.IPPROTO_IP, unix.IP_TTL, number(64))
	for _, segment := range []int{1, 100, 255, 256, 1200, 65535} {
		gro := appendControl(nil, unix.SOL_UDP, udpGRO, number(uint32(segment)))
		for name, c := range map[string]struct{ control, others []byte }{
			"alone":   {gro, nil},
			"first":   {append(gro[:len(gro):len(gro)], tos...), tos},
			"last":    {append(tos[:len(tos):len(tos)], gro...), tos},
			"between": {append(append(tos[:len(tos):len(tos)], gro...), ttl...), append(tos[:len(tos):len(tos)], ttl...)},
		} {
			others, got := CutSegment(append([]byte(nil), c.control...))
			require.Equal(t, segment, got, name)
			require.Equal(t, string(c.others), string(others), name)
		}
	}
	others, got := CutSegment(append([]byte(nil), tos...))
	require.Zero(t, got)
	require.Equal(t, tos, others)
}

func TestDamagedControlMessagesEndTheList(t *testing.T) {
	gro := appendControl(nil, unix.SOL_UDP, udpGRO, number(100))
	for n := range len(gro) {
		_, got := CutSegment(append([]byte(nil), gro[:n]...))
		if n < unix.CmsgLen(4) {
			require.Zero(t, got, "%d bytes", n)
		}
	}
	for _, length := range []int{0, unix.CmsgLen(0) - 1, len(gro) + 1, -1} {
		bad := append([]byte(nil), gro...)
		(*unix.Cmsghdr)(unsafe.Pointer(&bad[0])).SetLen(length)
		others, got := CutSegment(bad)
		require.Zero(t, got)
		require.Len(t, others, len(bad))
		n, all := CopyControl(make([]byte, 100), bad)
		require.Zero(t, n)
		require.True(t, all)
	}
}

func TestControlMessagesAreCopiedWhole(t *testing.T) {
	one := appendControl(nil, unix.IPPROTO_IP, unix.IP_TOS, []byte{2})
	both := appendControl(one[:len(one):len(one)], unix.IPPROTO_IP, unix.IP_TTL, number(64))
	for room := range len(both) + 8 {
		to := make([]byte, room)
		n, all := CopyControl(to, both)
		want := 0
		switch {
		case room >= len(one)+unix.CmsgLen(4):
			want = min(room, len(both))
		case room >= unix.CmsgLen(1):
			want = min(room, len(one))
		}
		require.Equal(t, want, n, "room of %d", room)
		require.Equal(t, room >= len(one)+unix.CmsgLen(4), all, "room of %d", room)
		require.Equal(t, string(both[:n]), string(to[:n]))
	}
}
