package conn

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
			return len(t.queue)
		}
	}
	return 0
}
