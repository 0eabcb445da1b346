package conn

import "net"

// From is the connection whose peer has an address; the zero Handle: there is none.
func From(g *Group, peer net.Addr) Handle {
	for e := range g.core.Table.All() {
		if c := connOf(e); c != nil && c.remote().String() == peer.String() {
			return c.Handle()
		}
	}
	return Handle{}
}

// WaitingHandshakes is how many wait for their turn, as any one of the group's
// connections has it.
func WaitingHandshakes(g *Group) int {
	for e := range g.core.Table.All() {
		c := connOf(e)
		if c == nil {
			continue
		}
		c.mu.Lock()
		f := c.filter()
		c.mu.Unlock()
		if f != nil {
			return f.handler.turns.Waiting()
		}
	}
	return 0
}
