package conn

import "net/netip"

// PeerOf is the peer that an accepted connection with that descriptor would be told to have.
func PeerOf(fd int) netip.AddrPort {
	var c Conn
	c.end.FD = fd
	c.accepted(netip.AddrPort{})
	return netip.AddrPortFrom(c.peer, c.port)
}
