package conn

import (
	"hash/maphash"
	"math"
)

// A Placement says on which worker a new connection begins: whose reactor it then
// receives through. What its handler does may run on any worker.
type Placement uint8

const (
	// RoundRobin takes the workers in turn.
	RoundRobin Placement = iota
	// LeastConnections takes the worker on which the fewest live ones began.
	LeastConnections
	// SourceHash takes the same worker for the same peer's address, whatever its port.
	SourceHash
)

// place is the worker on which a connection begins.
func (g *Group) place(c *Conn) int {
	at := 0
	if len(g.begun) == 1 {
		return at
	}
	switch g.cfg.Placement {
	case LeastConnections:
		fewest := int64(math.MaxInt64)
		first := g.nextWorker() // among equals
		for i := range g.begun {
			i = (first + i) % len(g.begun)
			if n := g.begun[i].Load(); n < fewest {
				at, fewest = i, n
			}
		}
	case SourceHash:
		if !c.local() {
			at = int(maphash.Comparable(g.seed, c.peer) % uint64(g.rt.Workers()))
			break
		}
		fallthrough
	default:
		at = g.nextWorker()
	}
	return at
}

func (g *Group) beginsOn(c *Conn, worker int) {
	c.begun = uint16(worker)
	g.begun[worker].Add(1)
}
