package reactor

import (
	"encoding/binary"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// packetPayload leaves 144 bytes for control messages. On 64-bit systems IPV6_PKTINFO takes 40,
// SO_TIMESTAMPNS 32, UDP_GRO, the traffic class and the hop limit 24 each.
const packetPayload = 192

// Of linux/udp.h.
const (
	udpSegment = 103
	udpGRO     = 104
)

const haveSegments = true // not in all kernels: see Batch.NoSegments

func familyOf(sockaddr []byte) uint16 { return binary.NativeEndian.Uint16(sockaddr) }

// control reads a control message of this system.
func (got *Packet) control(level, kind int, data []byte) {
	switch {
	case level == unix.SOL_UDP && kind == udpGRO && len(data) >= 4:
		got.Segment = int(int32(binary.NativeEndian.Uint32(data)))
	case level == unix.IPPROTO_IP && kind == unix.IP_TOS && len(data) >= 1:
		got.ECN = data[0] & 3
	case level == unix.IPPROTO_IPV6 && kind == unix.IPV6_TCLASS && len(data) >= 4:
		got.ECN = uint8(binary.NativeEndian.Uint32(data)) & 3
	case level == unix.IPPROTO_IP && kind == unix.IP_TTL && len(data) >= 4,
		level == unix.IPPROTO_IPV6 && kind == unix.IPV6_HOPLIMIT && len(data) >= 4:
		got.TTL = uint8(binary.NativeEndian.Uint32(data))
	case level == unix.SOL_SOCKET && kind == unix.SO_TIMESTAMPNS && len(data) >= int(unsafe.Sizeof(unix.Timespec{})):
		got.Time = stampOf(data)
	case level == unix.IPPROTO_IP && kind == unix.IP_PKTINFO && len(data) >= unix.SizeofInet4Pktinfo:
		got.Interface = int(binary.NativeEndian.Uint32(data))
		got.To = netip.AddrFrom4([4]byte(data[8:12]))
	}
}

// stampOf reads a struct timespec, whose fields are longs.
func stampOf(data []byte) int64 {
	if unsafe.Sizeof(unix.Timespec{}) == 8 {
		return int64(int32(binary.NativeEndian.Uint32(data)))*1e9 + int64(int32(binary.NativeEndian.Uint32(data[4:])))
	}
	return int64(binary.NativeEndian.Uint64(data))*1e9 + int64(binary.NativeEndian.Uint64(data[8:]))
}

// setSegment makes the kernel split the message into datagrams of this length.
func (part *rawDatagram) setSegment(h *unix.Msghdr, length int) {
	c := (*unix.Cmsghdr)(unsafe.Pointer(&part.control))
	c.Level, c.Type = unix.SOL_UDP, udpSegment
	c.SetLen(unix.CmsgLen(2))
	binary.NativeEndian.PutUint16((*[24]byte)(unsafe.Pointer(&part.control))[unix.CmsgLen(0):], uint16(length))
	h.Control = (*byte)(unsafe.Pointer(&part.control))
	h.SetControllen(unix.CmsgSpace(2))
}
