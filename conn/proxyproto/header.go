package proxyproto

import (
	"net"
	"net/netip"
)

// A Command is what a header of version 2 is there for.
type Command uint8

const (
	// Local says that the proxy has connected on its own behalf, as for a health check. The
	// connection's own addresses are the true ones.
	Local Command = iota

	// Proxy says that the connection is on behalf of another. Version 1 has only this.
	Proxy
)

func (c Command) String() string {
	switch c {
	case Local:
		return "LOCAL"
	case Proxy:
		return "PROXY"
	}
	return "unknown command"
}

// A Transport is the address family and protocol of the proxied connection, in
// version 2's code.
type Transport uint8

// The transports.
const (
	Unspec       Transport = 0x00 // unknown: there are no addresses
	TCP4         Transport = 0x11
	UDP4         Transport = 0x12
	TCP6         Transport = 0x21
	UDP6         Transport = 0x22
	UnixStream   Transport = 0x31
	UnixDatagram Transport = 0x32
)

func (t Transport) String() string {
	switch t {
	case Unspec:
		return "UNSPEC"
	case TCP4:
		return "TCP4"
	case UDP4:
		return "UDP4"
	case TCP6:
		return "TCP6"
	case UDP6:
		return "UDP6"
	case UnixStream:
		return "UNIX_STREAM"
	case UnixDatagram:
		return "UNIX_DGRAM"
	}
	return "unknown transport"
}

// A Header is what a proxy says of a connection.
type Header struct {
	// Version is 1 or 2; 0 where there was no header.
	Version int

	// Command is Proxy in version 1.
	Command Command

	// Transport says which addresses are there. It is Unspec for Local.
	Transport Transport

	// Source and Destination are the ends of the proxied connection as the
	// client sees it, for TCP and UDP. An IPv4 address that was sent as IPv6
	// is left so: see netip.Addr.Unmap.
	Source, Destination netip.AddrPort

	// SourcePath and DestinationPath are those ends for Unix sockets: "" is
	// unnamed, and "@" stands for the NUL of an abstract name, as in net.
	SourcePath, DestinationPath string

	// TLVs are further values, of version 2 only. Parse returns a part of its
	// argument here, valid as long as that.
	TLVs TLVs
}

// Proxied reports whether the header has addresses, which are then to be used
// instead of those of the connection.
func (h *Header) Proxied() bool { return h.Command == Proxy && h.Transport != Unspec }

// SourceAddr is the client's address: a *net.TCPAddr, *net.UDPAddr or
// *net.UnixAddr, or nil if the connection's own is the true one (see Proxied).
func (h *Header) SourceAddr() net.Addr { return h.addr(h.Source, h.SourcePath) }

// DestinationAddr is the address the client has connected to, as SourceAddr.
func (h *Header) DestinationAddr() net.Addr { return h.addr(h.Destination, h.DestinationPath) }

func (h *Header) addr(ip netip.AddrPort, path string) net.Addr {
	if h.Command != Proxy {
		return nil
	}
	switch h.Transport {
	case TCP4, TCP6:
		return net.TCPAddrFromAddrPort(ip)
	case UDP4, UDP6:
		return net.UDPAddrFromAddrPort(ip)
	case UnixStream:
		return &net.UnixAddr{Name: path, Net: "unix"}
	case UnixDatagram:
		return &net.UnixAddr{Name: path, Net: "unixgram"}
	}
	return nil
}
