package h1

import (
	"bytes"
	"net/netip"
)

// authority checks a host with an optional port, without user information. port is the index of the
// port's first digit, 0 if there is no colon; a port may be empty, and so may a host.
func authority(b []byte) (port int, ok bool) {
	var i int
	if len(b) > 0 && b[0] == '[' {
		end := bytes.IndexByte(b, ']')
		if end < 0 || !literal(b[1:end]) {
			return 0, false
		}
		i = end + 1
	} else {
		i = span(b, 0, hostByte)
		for escaped(b, i) {
			i = span(b, i+3, hostByte)
		}
	}
	if i == len(b) {
		return 0, true
	}
	if b[i] != ':' {
		return 0, false
	}
	port = i + 1
	number := 0
	for _, c := range b[port:] {
		if classes[c]&digitByte == 0 {
			return 0, false
		}
		number = number*10 + int(c-'0')
		if number > 1<<16-1 {
			return 0, false
		}
	}
	return port, true
}

// literal checks what stands between the brackets of an IP literal: an IPv6 address, perhaps with a
// zone after "%25", or "v", a version in hex, a dot and more.
func literal(b []byte) bool {
	if len(b) > 0 && b[0]|0x20 == 'v' {
		version, rest, _ := bytes.Cut(b[1:], []byte{'.'})
		rest = bytes.ReplaceAll(rest, []byte{':'}, nil)
		return len(version) > 0 && allOf(version, hexByte) && len(rest) > 0 && allOf(rest, hostByte)
	}
	if i := bytes.IndexByte(b, '%'); i >= 0 {
		zone, found := bytes.CutPrefix(b[i:], []byte("%25"))
		if !found || len(zone) == 0 || !allOf(zone, hostByte) {
			return false
		}
		b = b[:i]
	}
	addr, err := netip.ParseAddr(string(b))
	return err == nil && addr.Is6()
}
