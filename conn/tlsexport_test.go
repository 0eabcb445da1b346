package conn

import "net"

// From is the connection whose peer has an address; the zero Handle: there is none.
func From(g *Group, peer net.Addr) Handle {
	for e := range g.table.all() {
		if c, ok := e.target.(*Conn); ok && c.remote().String() == peer.String() {
			return c.Handle()
		}
	}
	return Handle{}
}

// WaitingHandshakes is how many wait for their turn, behind the gate of any one of the
// group's connections.
func WaitingHandshakes(g *Group) int {
	for e := range g.table.all() {
		c, ok := e.target.(*Conn)
		if !ok {
			continue
		}
		c.mu.Lock()
		var l *layer
		if c.extras != nil {
			l = c.extras.layer
		}
		c.mu.Unlock()
		if l != nil {
			t := l.gate.turns
			t.mu.Lock()
			defer t.mu.Unlock()
			return t.queue.Len()
		}
	}
	return 0
}
