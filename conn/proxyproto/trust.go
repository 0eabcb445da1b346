package proxyproto

import (
	"errors"
	"net"
	"net/netip"
)

// A Policy is what to do about the header of a connection.
type Policy uint8

const (
	// Require closes a connection that does not begin with a header. The zero value.
	Require Policy = iota

	// Optional allows a connection to begin with a header. Danger: if the source
	// relays connections without adding a header, as a NAT gateway or a proxy
	// that does not speak the protocol does, its clients can write one
	// themselves, and with it any address. The specification forbids guessing;
	// this is for a change-over, of sources that are known. A protocol in
	// which the server speaks first cannot be served in this way, since it
	// takes the client's first bytes to see that there is no header.
	Optional

	// Ignore looks for no header: all bytes are the client's.
	Ignore

	// Reject closes the connection.
	Reject
)

func (p Policy) String() string {
	switch p {
	case Require:
		return "require"
	case Optional:
		return "optional"
	case Ignore:
		return "ignore"
	case Reject:
		return "reject"
	}
	return "unknown policy"
}

// Trust is whose headers are believed. The zero value trusts nobody and rejects
// everybody. It may be used by any goroutine as long as it is not changed.
//
// A header lets its sender choose the address that it is known under. Sources
// must therefore hold nothing but proxies: not 0.0.0.0/0, and not a network in
// which clients are as well.
type Trust struct {
	// Sources are the proxies' addresses. An IPv4 source matches whether the
	// connection came in by an IPv4 or an IPv6 socket.
	Sources []netip.Prefix

	// Unix trusts connections over Unix sockets: the permissions of the path
	// decide which programs may connect.
	Unix bool

	// Policy is that for the trusted sources. Zero: Require.
	Policy Policy

	// PassUntrusted lets the others in, without a header: their bytes are the
	// client's, even those of a header. False: they are rejected.
	PassUntrusted bool

	// Parser has the limits.
	Parser Parser
}

// For is the policy for a connection from remote: that of the socket, not one
// that a header has claimed. It takes time proportional to the number of
// sources.
func (t *Trust) For(remote net.Addr) Policy {
	switch {
	case t.trusts(remote):
		return t.Policy
	case t.PassUntrusted:
		return Ignore
	}
	return Reject
}

func (t *Trust) trusts(remote net.Addr) bool {
	var ip netip.Addr
	switch a := remote.(type) {
	case *net.UnixAddr:
		return t.Unix
	case *net.TCPAddr:
		ip = a.AddrPort().Addr()
	case *net.UDPAddr:
		ip = a.AddrPort().Addr()
	}
	ip = ip.Unmap().WithZone("")
	for _, p := range t.Sources {
		if a := p.Addr(); a.Is4In6() && p.Bits() >= 96 {
			p = netip.PrefixFrom(a.Unmap(), p.Bits()-96)
		}
		if p.Contains(ip) {
			return true
		}
	}
	return false
}

// Parse is Parser.Parse under a policy that For has returned. Where no header is
// expected, or none is there and that is allowed, h.Version and n are 0 and the
// error is nil. Reject is ErrUntrusted, whatever b is.
func (t *Trust) Parse(p Policy, b []byte) (h Header, n int, err error) {
	switch p {
	case Ignore:
		return Header{}, 0, nil
	case Require, Optional:
	default:
		return Header{}, 0, ErrUntrusted
	}
	h, n, err = t.Parser.Parse(b)
	if p == Optional && errors.Is(err, ErrNoHeader) {
		return Header{}, 0, nil
	}
	return h, n, err
}
