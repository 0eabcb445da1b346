package conn

import (
	"net/netip"

	"github.com/suiro-go/suiro/internal/accept"
	"github.com/suiro-go/suiro/internal/core"
)

// PeerOf is the peer that an accepted connection with that descriptor would be told to have.
func PeerOf(fd int) netip.AddrPort {
	var c core.Conn
	c.Accepted(accept.Of(fd, netip.AddrPort{}))
	return netip.AddrPortFrom(c.Peer(), c.Port)
}
