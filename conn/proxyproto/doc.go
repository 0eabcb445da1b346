// Package proxyproto reads and writes the header of the PROXY protocol,
// versions 1 and 2: what a proxy puts before the first byte of a connection to
// tell the server whose connection it is. It is pure: bytes in, a header out,
// as often as more bytes have come.
//
// # Danger
//
// A peer that may send a header chooses the address that logs, limits and access
// lists will see. The header must therefore be believed only when it comes from
// a proxy of one's own, known by its address: see [Trust]. It must also never
// be guessed whether a header is there: a listener either expects it from its
// trusted sources or does not read it.
//
// A server must not answer, and not serve, before the header is complete, and
// should end a connection whose header does not come within a few seconds.
// Timing is the caller's, this package has no clock.
//
// # Strictness
//
// A header that differs from the specification is an error, at the first byte
// that shows it. Examples are leading zeros, other white space, a line not ended by CR LF, a
// length that is too short for its addresses, values that do not fill the rest
// exactly, a wrong checksum. Two things are read that its text does not mention
// and its users send. One is IPv6 addresses in version 1 whose end is written as
// IPv4 (::ffff:192.0.2.1), as inet_ntop does. The other is values behind a header without
// addresses.
//
// The specification is HAProxy's doc/proxy-protocol.txt.
package proxyproto
