package process

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
)

// A table finds processes by their PIDs. It consists of shards, so that processes start and end on
// several workers at once. Looking up takes no lock.
//
// A slot is used again, with the next generation. So a PID of an earlier process does not equal
// that of the slot's process, which lookup compares. A slot whose generations are used up is never
// used again.
type table struct {
	node   uint64 // of the PIDs
	shards [tableShards]tableShard
}

const (
	shardBits   = 3
	tableShards = 1 << shardBits
	chunkBits   = 9
	chunkSlots  = 1 << chunkBits
)

type tableShard struct {
	chunks atomic.Pointer[[]*tableChunk] // replaced when it grows

	mu    sync.Mutex // guards the fields below, and changes of the slots
	free  []uint32   // slots of the shard that are free, used ones first
	slots uint32     // slots of the shard that were ever used
	_     [64]byte

	len atomic.Int64 // processes, with those that have left their slot and are not done with their end
	_   [56]byte
}

type tableChunk struct {
	process    [chunkSlots]atomic.Pointer[proc]
	generation [chunkSlots]uint32 // guarded by the shard's lock
}

// get is the process of the PID; nil: it has ended.
func (t *table) get(pid PID) *proc {
	slot := pid.slot()
	chunks := t.shards[slot%tableShards].chunks.Load()
	i := slot >> shardBits
	if chunks == nil || int(i>>chunkBits) >= len(*chunks) {
		return nil
	}
	p := (*chunks)[i>>chunkBits].process[i%chunkSlots].Load()
	if p == nil || p.pid != pid {
		return nil
	}
	return p
}

// add gives the process a PID.
func (t *table) add(p *proc) {
	number := rand.Uint32N(tableShards)
	s := &t.shards[number]
	s.mu.Lock()
	defer s.mu.Unlock()
	var i uint32
	if n := len(s.free); n > 0 {
		i, s.free = s.free[n-1], s.free[:n-1]
	} else {
		i = s.slots
		s.slots++
		s.grow(int(i >> chunkBits))
	}
	c := (*s.chunks.Load())[i>>chunkBits]
	c.generation[i%chunkSlots]++
	p.pid = pidOf(t.node, i<<shardBits|number, c.generation[i%chunkSlots])
	c.process[i%chunkSlots].Store(p)
	s.len.Add(1)
}

// grow makes the chunk with that index, unless it exists. The lock is held.
func (s *tableShard) grow(chunk int) {
	var chunks []*tableChunk
	if old := s.chunks.Load(); old != nil {
		chunks = *old
	}
	if chunk < len(chunks) {
		return
	}
	larger := slices.Concat(chunks, []*tableChunk{new(tableChunk)})
	s.chunks.Store(&larger)
}

// remove frees the slot of the process, which its PID no longer finds.
func (t *table) remove(p *proc) {
	slot := p.pid.slot()
	s := &t.shards[slot%tableShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slot >> shardBits
	c := (*s.chunks.Load())[i>>chunkBits]
	c.process[i%chunkSlots].Store(nil)
	if c.generation[i%chunkSlots] < math.MaxUint32 {
		s.free = append(s.free, i)
	}
}

// ended is called once a process that was removed is done with its end.
func (t *table) ended(pid PID) { t.shards[pid.slot()%tableShards].len.Add(-1) }

// len is the number of processes. Those that start or end meanwhile may be counted or not.
func (t *table) len() (n int) {
	for i := range t.shards {
		n += int(t.shards[i].len.Load())
	}
	return n
}

// each calls f for each process. Those that start or end meanwhile may be missing.
func (t *table) each(f func(p *proc)) {
	for i := range t.shards {
		chunks := t.shards[i].chunks.Load()
		if chunks == nil {
			continue
		}
		for _, c := range *chunks {
			for j := range c.process {
				if p := c.process[j].Load(); p != nil {
					f(p)
				}
			}
		}
	}
}
