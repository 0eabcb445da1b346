package reactor

import (
	"encoding/binary"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// packetPayload leaves 80 bytes for control messages: IPV6_PKTINFO and UDP_GRO take 64.
const packetPayload = 128

// Of linux/udp.h.
const (
	udpSegment = 103
	udpGRO     = 104
)

const haveSegments = true // some kernels: see Batch.NoSegments

func familyOf(sockaddr []byte) uint16 { return binary.NativeEndian.Uint16(sockaddr) }

// control reads a control message of this system.
func (got *Packet) control(level, kind int, data []byte) {
	switch {
	case level == unix.SOL_UDP && kind == udpGRO && len(data) >= 4:
		got.Segment = int(int32(binary.NativeEndian.Uint32(data)))
	case level == unix.IPPROTO_IP && kind == unix.IP_PKTINFO && len(data) >= unix.SizeofInet4Pktinfo:
		got.Interface = int(binary.NativeEndian.Uint32(data))
		got.To = netip.AddrFrom4([4]byte(data[8:12]))
	}
}

// setSegment has the kernel send several datagrams of that length.
func (part *rawDatagram) setSegment(h *unix.Msghdr, length int) {
	c := (*unix.Cmsghdr)(unsafe.Pointer(&part.control))
	c.Level, c.Type = unix.SOL_UDP, udpSegment
	c.SetLen(unix.CmsgLen(2))
	binary.NativeEndian.PutUint16((*[24]byte)(unsafe.Pointer(&part.control))[unix.CmsgLen(0):], uint16(length))
	h.Control = (*byte)(unsafe.Pointer(&part.control))
	h.SetControllen(unix.CmsgSpace(2))
}
