package conn

import (
	"net/netip"

	"github.com/suiro-go/suiro/internal/accept"
)

// PeerOf is the peer that an accepted connection with that descriptor would be told to have.
func PeerOf(fd int) netip.AddrPort {
	var c Conn
	c.accepted(accept.Of(fd, netip.AddrPort{}))
	return netip.AddrPortFrom(c.peer, c.port)
}
