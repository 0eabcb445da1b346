package conn

import (
	"net"

	"github.com/suiro-go/suiro/internal/core"
)

// From is the connection whose peer has an address; the zero Handle: there is none.
func From(g *Group, peer net.Addr) Handle {
	for e := range g.core.Engine.Table.All() {
		if c := core.ConnOf(e); c != nil && c.Remote().String() == peer.String() {
			return Handle{c.Handle()}
		}
	}
	return Handle{}
}

// WaitingHandshakes is how many wait for their turn, as any one of the group's
// connections has it.
func WaitingHandshakes(g *Group) int {
	for e := range g.core.Engine.Table.All() {
		c := core.ConnOf(e)
		if c == nil {
			continue
		}
		c.Mu.Lock()
		f := c.Filter()
		c.Mu.Unlock()
		if f != nil {
			return f.Handler.(*handshakeHandler).sem.Waiting()
		}
	}
	return 0
}
