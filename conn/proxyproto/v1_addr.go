package proxyproto

import (
	"encoding/binary"
	"net/netip"
)

// maxIPv6 is the length of ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff, the longest
// that the specification makes room for.
const maxIPv6 = 39

// dotted reads an IPv4 address byte by byte.
type dotted struct {
	octets       [4]byte // the last may be unfinished
	dots, digits int     // digits of the current octet
}

// next is false at the first byte with which no address goes on.
func (d *dotted) next(c byte) bool {
	switch {
	case c == '.':
		ok := d.digits > 0 && d.dots < 3
		d.dots, d.digits = d.dots+1, 0
		return ok
	case c < '0' || c > '9' || d.dots > 3 || d.digits > 0 && d.octets[d.dots] == 0:
		return false
	}
	value := int(d.octets[d.dots])*10 + int(c-'0')
	d.octets[d.dots] = byte(value)
	d.digits++
	return value <= 255
}

func (d *dotted) complete() bool { return d.dots == 3 && d.digits > 0 }

// missing is how many bytes at least it takes to complete the address.
func (d *dotted) missing() int {
	n := 2 * (3 - d.dots)
	if d.digits == 0 {
		n++
	}
	return n
}

// colons reads an IPv6 address in the same way: groups of hexadecimal digits,
// one "::" at most, and at the end perhaps an IPv4 address for two groups.
type colons struct {
	words  [8]uint16
	size   int    // bytes so far
	groups int    // words so far; the last may be unfinished
	digits int    // of the last group
	gap    bool   // "::" was there; it stands for one group or more
	gapAt  int    // groups before it
	last   byte   // the byte before, 0 at the start
	pair   bool   // that and the one before it are the "::"
	tail   dotted // what the last group is if it is decimal
	odd    bool   // it is not
	v4     bool   // a dot was there
}

// next is false at the first byte with which no address goes on.
func (a *colons) next(c byte) bool {
	a.size++
	last := a.last
	a.last = c
	switch {
	case a.v4:
		return a.tail.next(c) && a.tailFits()
	case c == '.':
		if last == ':' { // tail has the group before
			return false
		}
		a.v4 = true
		// The group becomes two; a gap needs one for itself.
		room := a.groups == 7 && !a.gap || a.groups <= 6 && a.gap
		return room && !a.odd && a.tail.next(c) && a.tailFits()
	case c == ':':
		return a.colon(last)
	}
	a.pair = false
	if last == ':' || last == 0 {
		if a.groups == 8 || a.groups == 7 && a.gap || last == ':' && a.size == 2 {
			return false
		}
		a.groups++
		a.digits, a.tail, a.odd = 0, dotted{}, false
	}
	a.digits++
	a.odd = a.odd || !a.tail.next(c)
	value, ok := digit(c)
	a.words[a.groups-1] = a.words[a.groups-1]<<4 | value
	return ok && a.digits <= 4
}

func (a *colons) tailFits() bool { return a.size+a.tail.missing() <= maxIPv6 }

func (a *colons) colon(last byte) bool {
	switch {
	case last == 0:
		return true // of a "::"
	case last != ':': // there will be another group, or a gap
		return a.groups < 7 || a.groups == 7 && !a.gap
	}
	ok := !a.gap
	a.gap, a.gapAt, a.pair = true, a.groups, true
	return ok
}

func (a *colons) complete() bool {
	groups := a.groups
	if a.v4 {
		if !a.tail.complete() {
			return false
		}
		groups++
	}
	return (a.last != ':' || a.pair) && (a.gap || groups == 8)
}

// addr is the complete address.
func (a *colons) addr() netip.Addr {
	if a.v4 {
		a.words[a.groups-1] = binary.BigEndian.Uint16(a.tail.octets[:2])
		a.words[a.groups] = binary.BigEndian.Uint16(a.tail.octets[2:])
		a.groups++
	}
	var ip [16]byte
	for i, w := range a.words[:a.groups] {
		if a.gap && i >= a.gapAt {
			i += 8 - a.groups
		}
		binary.BigEndian.PutUint16(ip[2*i:], w)
	}
	return netip.AddrFrom16(ip)
}

func digit(c byte) (uint16, bool) {
	switch {
	case '0' <= c && c <= '9':
		return uint16(c - '0'), true
	case 'a' <= c && c <= 'f':
		return uint16(c-'a') + 10, true
	case 'A' <= c && c <= 'F':
		return uint16(c-'A') + 10, true
	}
	return 0, false
}
