package reactor

import (
	"encoding/binary"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// packetPayload leaves 208 bytes for control messages. On 64-bit systems IPV6_PKTINFO takes 40,
// IP_PKTINFO and SO_TIMESTAMPNS 32 each, UDP_GRO, the traffic class and the hop limit 24 each.
const packetPayload = 256

// Of linux/udp.h.
const (
	udpSegment = 103
	udpGRO     = 104
)

const (
	haveSegments = true // not in all kernels: see Batch.NoSegments
	canSource    = true // Batch.From has an effect
)

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
		got.Unicast = [4]byte(data[4:8]) == [4]byte(data[8:12]) // else the kernel names an address to answer from
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
	var data [2]byte
	binary.NativeEndian.PutUint16(data[:], uint16(length))
	part.addControl(h, unix.SOL_UDP, udpSegment, data[:])
}

// setSource makes the message leave from the datagram's source address. An IPv6 socket has one kind
// of control message for both families.
func (part *rawDatagram) setSource(h *unix.Msghdr, d *datagram, wide bool) {
	if wide {
		var info [unix.SizeofInet6Pktinfo]byte // the source, and the interface
		ip := d.from.As16()
		copy(info[:], ip[:])
		binary.NativeEndian.PutUint32(info[len(ip):], d.device)
		part.addControl(h, unix.IPPROTO_IPV6, unix.IPV6_PKTINFO, info[:])
		return
	}
	var info [unix.SizeofInet4Pktinfo]byte // the interface, the source, and the unused destination
	ip := d.from.Unmap().As4()
	copy(info[4:], ip[:])
	part.addControl(h, unix.IPPROTO_IP, unix.IP_PKTINFO, info[:])
}

// addControl adds a control message.
func (part *rawDatagram) addControl(h *unix.Msghdr, level, kind int32, data []byte) {
	room, at := (*[8 * len(part.control)]byte)(unsafe.Pointer(&part.control)), int(h.Controllen)
	c := (*unix.Cmsghdr)(unsafe.Pointer(&room[at]))
	c.Level, c.Type = level, kind
	c.SetLen(unix.CmsgLen(len(data)))
	copy(room[at+unix.CmsgLen(0):], data)
	h.Control = &room[0]
	h.SetControllen(at + unix.CmsgSpace(len(data)))
}
