package proxyproto

import "net/netip"

const (
	magicV1 = "PROXY "
	minV1   = 15  // PROXY UNKNOWN CR LF
	maxV1   = 107 // CR LF included
)

// A lineV1 is a line of version 1 that is read from left to right. Each method
// takes one part of it. The first method that finds an invalid byte sets err.
// The first one that runs out of bytes sets ErrIncomplete.
type lineV1 struct {
	b   []byte
	at  int
	err error
}

func parseV1(b []byte, limit int, h *Header) (int, error) {
	if err := signature(b, magicV1); err != nil {
		return 0, err
	}
	limit = min(limit, maxV1)
	l := lineV1{b: b[:min(len(b), limit)]}
	l.literal(magicV1)
	*h = Header{Version: 1, Command: Proxy, Transport: l.transport()}
	switch h.Transport {
	case Unspec:
		l.ignored(limit)
	default:
		source := l.addr(h.Transport)
		destination := l.addr(h.Transport)
		h.Source = netip.AddrPortFrom(source, l.port(' '))
		h.Destination = netip.AddrPortFrom(destination, l.port('\r'))
		l.literal("\n")
	}
	switch {
	case l.err == nil:
		return l.at, nil
	case l.err != ErrIncomplete:
		return 0, l.err
	case len(b) >= limit:
		return 0, tooLong(limit - 1)
	}
	return max(len(b)+1, minV1), ErrIncomplete
}

func (l *lineV1) fail(reason string) {
	if l.err == nil {
		l.err = malformed(l.at, reason)
	}
}

// next takes a byte.
func (l *lineV1) next() (c byte, ok bool) {
	switch {
	case l.err != nil:
		return 0, false
	case l.at == len(l.b):
		l.err = ErrIncomplete
		return 0, false
	}
	l.at++
	return l.b[l.at-1], true
}

// back gives the last byte back, so that at is that of a mistake.
func (l *lineV1) back(reason string) {
	l.at--
	l.fail(reason)
}

func (l *lineV1) literal(s string) {
	for i := range len(s) {
		if c, ok := l.next(); ok && c != s[i] {
			l.back("not what the line must go on with")
		}
	}
}

// transport takes the name of the protocol and the space behind it; behind
// UNKNOWN only the name.
func (l *lineV1) transport() Transport {
	switch c, ok := l.next(); {
	case ok && c == 'U':
		l.literal("NKNOWN")
		return Unspec
	case ok && c != 'T':
		l.back("unknown protocol")
	}
	l.literal("CP")
	t := TCP4
	switch c, ok := l.next(); {
	case ok && c == '6':
		t = TCP6
	case ok && c != '4':
		l.back("unknown protocol")
	}
	l.literal(" ")
	return t
}

// ignored takes the rest of a line after UNKNOWN: the line's end, or a space and anything
// up to that.
func (l *lineV1) ignored(limit int) {
	c, ok := l.next()
	if ok && c != ' ' && c != '\r' {
		l.back("neither a space nor CR LF behind UNKNOWN")
	}
	for ok && c != '\r' {
		if c == '\n' {
			l.back("LF without CR")
		} else if l.at == limit-1 {
			l.err = tooLong(l.at - 1)
		}
		c, ok = l.next()
	}
	l.literal("\n")
}

// addr takes an address and the space behind it.
func (l *lineV1) addr(t Transport) netip.Addr {
	var v4 dotted
	var v6 colons
	for {
		c, ok := l.next()
		switch {
		case !ok:
			return netip.Addr{}
		case c == ' ' && t == TCP4 && v4.complete():
			return netip.AddrFrom4(v4.octets)
		case c == ' ' && t == TCP6 && v6.complete():
			return v6.addr()
		case t == TCP4 && !v4.next(c), t == TCP6 && !v6.next(c):
			l.back("malformed address")
		}
	}
}

// port takes a port and the byte behind it.
func (l *lineV1) port(end byte) uint16 {
	n, digits := 0, 0
	for {
		c, ok := l.next()
		switch {
		case !ok:
			return 0
		case c == end && digits > 0:
			return uint16(n)
		case c < '0' || c > '9':
			l.back("malformed port")
		case digits > 0 && n == 0:
			l.back("port with a leading zero")
		}
		n, digits = n*10+int(c-'0'), digits+1
		if n > 1<<16-1 {
			l.back("port beyond 65535")
		}
	}
}
