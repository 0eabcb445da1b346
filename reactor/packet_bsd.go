//go:build unix && !linux

package reactor

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"
)

// packetPayload leaves 144 bytes for control messages: IP_RECVIF includes the name of an interface
// and takes 72, IP_RECVDSTADDR 24.
const packetPayload = 192

const (
	haveSegments = false
	canSource    = false // Batch.From has no effect
)

func familyOf(sockaddr []byte) uint16 { return uint16(sockaddr[1]) } // behind the length

// control reads a control message of this system.
func (got *Packet) control(level, kind int, data []byte) {
	switch {
	case level == unix.IPPROTO_IP && kind == unix.IP_RECVDSTADDR && len(data) >= 4:
		got.To = netip.AddrFrom4([4]byte(data))
	case level == unix.IPPROTO_IP && kind == unix.IP_RECVIF && len(data) >= 4: // struct sockaddr_dl
		got.Interface = int(binary.NativeEndian.Uint16(data[2:]))
	}
}

func (*rawDatagram) setSegment(*unix.Msghdr, int) {} // no batch has segments

func (*rawDatagram) setSource(*unix.Msghdr, *datagram, bool) {}
