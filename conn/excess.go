package conn

// mayQueue reports whether a connection with that much unsent may queue more. Below
// HighWater it always may, and nothing that the workers share is touched.
func (g *Group) mayQueue(unsent int) bool {
	return unsent < g.cfg.HighWater ||
		unsent < g.cfg.MaxWrite && g.excess.Load() < int64(g.cfg.MaxWriteTotal)
}

// reckon brings the group's excess up to date with what waits above HighWater. It is called
// wherever that changes under the connection's lock, which is held; a connection that is torn
// down has none, whatever is still in flight.
func (in *inbox) reckon(g *Group) {
	if in.mail == nil {
		return
	}
	now := 0
	if !in.closed() {
		now = max(0, in.waits()-g.cfg.HighWater)
	}
	if now != in.excess {
		g.excess.Add(int64(now - in.excess))
		in.excess = now
	}
}
