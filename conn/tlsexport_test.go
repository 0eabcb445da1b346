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

// WaitingHandshakes is how many wait for their turn, behind the gate of any one of the
// group's connections.
func WaitingHandshakes(g *Group) int {
	for e := range g.core.Table.All() {
		c := connOf(e)
		if c == nil {
			continue
		}
		c.mu.Lock()
		var l *layer
		if c.extras != nil {
			l = c.extras.layer
		}
		c.mu.Unlock()
		if l != nil {
			return l.gate.turns.Waiting()
		}
	}
	return 0
}

// LockLayer takes the lock of the connection's TLS layer, as the handshake's goroutine does.
func (h Handle) LockLayer() (unlock func()) {
	l := h.conn().extras.layer
	l.mu.Lock()
	return l.mu.Unlock
}
