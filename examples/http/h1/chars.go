package h1

import (
	"encoding/binary"
	"math/bits"
)

// Classes of bytes. A class says where a byte may stand without a further look at it. Bytes that
// need one ('%' in a path, ':' in an authority) are left out.
const (
	tokenByte  = 1 << iota // RFC 9110 tchar
	pathByte               // RFC 3986 pchar, "/" and what browsers leave bare in a path
	queryByte              // the same for a query
	hostByte               // RFC 3986 reg-name
	valueByte              // RFC 9110 field-vchar, SP, HTAB
	digitByte              // 0-9
	hexByte                // 0-9 a-f A-F
	quotedByte             // RFC 9110 qdtext
)

var classes = func() (t [256]uint8) {
	mark := func(set string, class uint8) {
		for i := range len(set) {
			t[set[i]] |= class
		}
	}
	span := func(lo, hi byte, class uint8) {
		for c := int(lo); c <= int(hi); c++ {
			t[c] |= class
		}
	}
	const word = tokenByte | pathByte | queryByte | hostByte
	span('a', 'z', word)
	span('A', 'Z', word)
	span('0', '9', word|digitByte|hexByte)
	span('a', 'f', hexByte)
	span('A', 'F', hexByte)
	mark("!#$%&'*+-.^_`|~", tokenByte)
	mark("-._~!$&'()*+,;=", pathByte|queryByte|hostByte)
	mark(":@/", pathByte|queryByte)
	mark("[]|^", pathByte|queryByte)
	mark("?%\\`{}", queryByte)
	mark("\t", valueByte|quotedByte)
	span(' ', '~', valueByte|quotedByte)
	span(0x80, 0xff, valueByte|quotedByte)
	t['"'] &^= quotedByte
	t['\\'] &^= quotedByte
	return t
}()

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// valueEnd is the index, i or later, of the first byte that may not stand in a field value; len(b)
// if none. Eight bytes at a step: a byte's high bit is raised in m where it is below SP or is DEL;
// the lowest raised bit is exact, higher ones may be carries.
func valueEnd(b []byte, i int) int {
	for i+8 <= len(b) {
		x := binary.LittleEndian.Uint64(b[i:])
		del := x ^ 0x7f*ones
		m := ((x-0x20*ones)&^x | (del-ones)&^del) & highs
		if m == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(m) >> 3
		if b[i] != '\t' {
			return i
		}
		i++
	}
	return span(b, i, valueByte)
}

// span is the index, i or later, of the first byte that is not of the class; len(b) if none.
func span(b []byte, i int, class uint8) int {
	for j, c := range b[i:] {
		if classes[c]&class == 0 {
			return i + j
		}
	}
	return len(b)
}

// allOf reports whether every byte is of the class.
func allOf(b []byte, class uint8) bool { return span(b, 0, class) == len(b) }

// escaped reports whether a well-formed percent escape stands at b[i:].
func escaped(b []byte, i int) bool {
	return i+2 < len(b) && b[i] == '%' && classes[b[i+1]]&classes[b[i+2]]&hexByte != 0
}

func lower(c byte) byte {
	if c-'A' < 26 {
		c |= 0x20
	}
	return c
}

// equalFold compares in ASCII without regard to case.
func equalFold[T []byte | string](a []byte, b T) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] && lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

// trim strips optional white space from both ends.
func trim(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}
