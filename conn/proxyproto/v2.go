package proxyproto

import (
	"bytes"
	"encoding/binary"
	"net/netip"
)

const (
	magicV2  = "\r\n\r\n\x00\r\nQUIT\n"
	fixedV2  = 16 // the signature, version and command, family and protocol, length
	pathSize = 108
	maxV2    = fixedV2 + 1<<16 - 1
)

// addresses is the size of a transport's address block.
func (t Transport) addresses() int {
	switch t {
	case TCP4, UDP4:
		return 2*4 + 2*2
	case TCP6, UDP6:
		return 2*16 + 2*2
	case UnixStream, UnixDatagram:
		return 2 * pathSize
	}
	return 0
}

// known: a family without a protocol, or the other way round, is valid and says
// nothing.
func (t Transport) known() bool { return t.addresses() > 0 }

func parseV2(b []byte, limit int, h *Header) (int, error) {
	if err := signature(b, magicV2); err != nil {
		return 0, err
	}
	h.Version = 2
	if len(b) > 12 {
		if b[12]>>4 != 2 {
			return 0, malformed(12, "not version 2")
		}
		if h.Command = Command(b[12] & 0xf); h.Command > Proxy {
			return 0, malformed(12, "unknown command")
		}
	}
	var wire Transport
	if len(b) > 13 {
		wire = Transport(b[13])
		if h.Command == Proxy && (wire>>4 > 3 || wire&0xf > 2) {
			return 0, malformed(13, "unknown address family or protocol")
		}
		if h.Command == Proxy && fixedV2+wire.addresses() > limit {
			return 0, tooLong(13)
		}
	}
	if len(b) > 14 && fixedV2+int(b[14])<<8 > limit {
		return 0, tooLong(14)
	}
	if len(b) < fixedV2 {
		return fixedV2, ErrIncomplete
	}
	total := fixedV2 + int(binary.BigEndian.Uint16(b[14:]))
	if total > limit {
		return 0, tooLong(15)
	}
	err := h.body(b[:min(len(b), total)], total, wire)
	if err != nil && err != ErrIncomplete {
		return 0, err
	}
	return total, err
}

// body reads the part behind the fixed part. b has as much as has arrived.
func (h *Header) body(b []byte, total int, wire Transport) error {
	h.Transport = Unspec
	values := fixedV2 + wire.addresses()
	if h.Command == Proxy && wire.known() {
		h.Transport = wire
		if values > total {
			return malformed(fixedV2-1, "too short for the addresses")
		}
	}
	values = min(values, total)
	sum, at, err := checkTLVs(b[min(values, len(b)):], total-values, false)
	// The bytes behind a header without addresses are not defined, and must be
	// skipped. HAProxy puts values there, which are used if they are valid.
	defined := h.Transport != Unspec
	switch wrong := err != nil && err != ErrIncomplete; {
	case wrong && defined && at < 0:
		return malformed(fixedV2-1, err.Error())
	case wrong && defined:
		return malformed(values+at, err.Error())
	case len(b) < total:
		return ErrIncomplete
	case wrong:
		return nil
	case sum >= 0 && checksum(b, values+sum) != binary.BigEndian.Uint32(b[values+sum:]):
		return &ParseError{Offset: total - 1, Reason: "the bytes have another", Err: ErrChecksum}
	}
	if defined {
		h.readAddresses(b[fixedV2:values])
	}
	if values < total {
		h.TLVs = TLVs(b[values:total:total])
	}
	return nil
}

func (h *Header) readAddresses(b []byte) {
	switch h.Transport {
	case TCP4, UDP4:
		h.Source = netip.AddrPortFrom(netip.AddrFrom4([4]byte(b)), binary.BigEndian.Uint16(b[8:]))
		h.Destination = netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:])), binary.BigEndian.Uint16(b[10:]))
	case TCP6, UDP6:
		h.Source = netip.AddrPortFrom(netip.AddrFrom16([16]byte(b)), binary.BigEndian.Uint16(b[32:]))
		h.Destination = netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[16:])), binary.BigEndian.Uint16(b[34:]))
	case UnixStream, UnixDatagram:
		h.SourcePath, h.DestinationPath = path(b[:pathSize]), path(b[pathSize:])
	}
}

// path is a sun_path: up to a NUL; or an abstract name, behind a NUL. An abstract
// name has no length, so it ends before the last NULs.
func path(b []byte) string {
	if b[0] != 0 {
		if end := bytes.IndexByte(b, 0); end >= 0 {
			b = b[:end]
		}
		return string(b)
	}
	name := bytes.TrimRight(b[1:], "\x00")
	if len(name) == 0 {
		return ""
	}
	return "@" + string(name)
}
