package proxyproto

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strconv"
)

// AppendV1 appends a header of version 1, to be sent before anything else and
// in one piece. It has words for TCP only: all else, Local as well, becomes
// UNKNOWN: the receiver then uses the connection's own addresses. Values are
// not sent, nor is the zone of an IPv6 address. An error matches ErrHeader, and
// leaves dst as it was. h is only read.
func AppendV1(dst []byte, h *Header) ([]byte, error) {
	if err := h.check(); err != nil {
		return dst, err
	}
	if h.Command != Proxy || h.Transport != TCP4 && h.Transport != TCP6 {
		return append(dst, "PROXY UNKNOWN\r\n"...), nil
	}
	dst = append(dst, magicV1...)
	dst = append(dst, h.Transport.String()...)
	dst = appendAddr(append(dst, ' '), h.Source.Addr())
	dst = appendAddr(append(dst, ' '), h.Destination.Addr())
	dst = strconv.AppendUint(append(dst, ' '), uint64(h.Source.Port()), 10)
	dst = strconv.AppendUint(append(dst, ' '), uint64(h.Destination.Port()), 10)
	return append(dst, "\r\n"...), nil
}

// appendAddr writes an IPv4 address in an IPv6 one as groups, too: the
// specification does not know of dots in there.
func appendAddr(dst []byte, a netip.Addr) []byte {
	if !a.Is4In6() {
		return a.WithZone("").AppendTo(dst)
	}
	ip := a.As16()
	dst = append(dst, "::ffff:"...)
	dst = strconv.AppendUint(dst, uint64(binary.BigEndian.Uint16(ip[12:])), 16)
	return strconv.AppendUint(append(dst, ':'), uint64(binary.BigEndian.Uint16(ip[14:])), 16)
}

// AppendV2 appends a header of version 2, to be sent before anything else and
// in one piece. If h.TLVs has a checksum (see AppendCRC32C), the right one is
// put in its place. The zone of an IPv6 address is not sent. An error matches
// ErrHeader, and leaves dst as it was. h is only read; its Version does not
// matter.
func AppendV2(dst []byte, h *Header) ([]byte, error) {
	if err := h.check(); err != nil {
		return dst, err
	}
	transport := h.Transport
	if h.Command == Local {
		transport = Unspec
	}
	size := transport.addresses() + len(h.TLVs)
	if size > maxV2-fixedV2 {
		return dst, fmt.Errorf("%w: %d bytes of values are too many", ErrHeader, len(h.TLVs))
	}
	sum, _, err := checkTLVs(h.TLVs, len(h.TLVs), false)
	if err != nil {
		return dst, fmt.Errorf("%w: %w", ErrHeader, err)
	}
	start := len(dst)
	dst = append(dst, magicV2...)
	dst = append(dst, 2<<4|byte(h.Command), byte(transport), byte(size>>8), byte(size))
	dst = h.appendAddresses(dst, transport)
	values := len(dst)
	dst = append(dst, h.TLVs...)
	if sum >= 0 {
		at := values + sum
		binary.BigEndian.PutUint32(dst[at:], checksum(dst[start:], at-start))
	}
	return dst, nil
}

func (h *Header) appendAddresses(dst []byte, t Transport) []byte {
	switch t {
	case TCP4, UDP4:
		source, destination := h.Source.Addr().As4(), h.Destination.Addr().As4()
		dst = append(append(dst, source[:]...), destination[:]...)
	case TCP6, UDP6:
		source, destination := h.Source.Addr().As16(), h.Destination.Addr().As16()
		dst = append(append(dst, source[:]...), destination[:]...)
	case UnixStream, UnixDatagram:
		return appendPath(appendPath(dst, h.SourcePath), h.DestinationPath)
	default:
		return dst
	}
	dst = binary.BigEndian.AppendUint16(dst, h.Source.Port())
	return binary.BigEndian.AppendUint16(dst, h.Destination.Port())
}

func appendPath(dst []byte, path string) []byte {
	var b [pathSize]byte
	copy(b[:], path)
	if b[0] == '@' {
		b[0] = 0
	}
	return append(dst, b[:]...)
}

// check is whether the fields go together.
func (h *Header) check() error {
	if h.Command == Local {
		return nil
	}
	var ok bool
	switch h.Transport {
	case Unspec:
		ok = true
	case TCP4, UDP4:
		ok = h.Source.Addr().Is4() && h.Destination.Addr().Is4()
	case TCP6, UDP6:
		ok = h.Source.Addr().Is6() && h.Destination.Addr().Is6()
	case UnixStream, UnixDatagram:
		ok = sendable(h.SourcePath) && sendable(h.DestinationPath)
	}
	if !ok || h.Command != Proxy {
		return fmt.Errorf("%w: its addresses are not those of %v, %v", ErrHeader, h.Command, h.Transport)
	}
	return nil
}

// sendable reports whether a path comes back as it is: it fits; it has no NUL,
// an abstract name none at its end.
func sendable(s string) bool {
	if len(s) > pathSize {
		return false
	}
	return path(appendPath(nil, s)) == s
}
