// Package placement chooses the worker on which a connection begins, and counts how many living
// ones began on each. It knows nothing of connections: a source is an address.
package placement

import (
	"hash/maphash"
	"math"
	"net/netip"
	"sync/atomic"
)

// A Policy says how a worker is chosen.
type Policy uint8

const (
	RoundRobin       Policy = iota // the workers in turn
	LeastConnections               // the worker on which the fewest living connections began
	SourceHash                     // the same worker for the same source
)

// A Placement is the workers of a group. Any goroutine may call the methods.
type Placement struct {
	policy Policy
	turns  Turns
	begun  []atomic.Int64 // living connections, by the worker they began on
	seed   maphash.Seed
}

// Turns are workers one after the other, also for others than connections.
type Turns interface{ NextWorker() int }

// New is a placement on so many workers.
func New(p Policy, workers int, turns Turns) *Placement {
	return &Placement{policy: p, turns: turns, begun: make([]atomic.Int64, workers), seed: maphash.MakeSeed()}
}

// Choose is the worker for a connection of that source. With SourceHash the zero source has a
// worker in turn.
func (p *Placement) Choose(source netip.Addr) int {
	switch {
	case len(p.begun) == 1:
		return 0
	case p.policy == LeastConnections:
		return p.fewest()
	case p.policy == SourceHash && source.IsValid():
		return int(maphash.Comparable(p.seed, source) % uint64(len(p.begun)))
	default:
		return p.turns.NextWorker()
	}
}

// fewest is the worker with the fewest connections; among equals, in turn.
func (p *Placement) fewest() (at int) {
	fewest := int64(math.MaxInt64)
	first := p.turns.NextWorker()
	for i := range p.begun {
		i = (first + i) % len(p.begun)
		if n := p.begun[i].Load(); n < fewest {
			at, fewest = i, n
		}
	}
	return at
}

// Begin counts a connection that begins on a worker.
func (p *Placement) Begin(worker int) { p.begun[worker].Add(1) }

// End counts the end of one that began there.
func (p *Placement) End(worker int) { p.begun[worker].Add(-1) }

// Begun is how many living connections began on a worker.
func (p *Placement) Begun(worker int) int { return int(p.begun[worker].Load()) }
