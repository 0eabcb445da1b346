package bufs

import (
	"math/bits"
	"sync"
)

// A Ration bounds what the buffer pools of a group with conn.Config.MaxMemory keep, so that
// memory that connections have given back does not stay beside what others hold now.
type Ration struct {
	keep [len(classes)]int // buffers of each class, for one worker
	most int               // bytes of huge buffers, though connections hold less
	held func() int64      // bytes that connections hold

	mu    sync.Mutex // guards the fields below
	bytes int        // of the buffers below
	huge  [hugeBits - largeBits][][]byte
}

// NewRation has an eighth of the ceiling for the workers' classes, in equal parts, and an
// eighth for huge buffers. While connections hold more than that, as many bytes of huge buffers are
// kept as they hold: buffers that go round under load are no garbage.
func NewRation(ceiling, workers int, held func() int64) *Ration {
	r := &Ration{most: ceiling / 8, held: held}
	for i, c := range classes {
		r.keep[i] = min(c.keep, ceiling/8/workers/len(classes)/c.size)
	}
	return r
}

// get is an empty buffer of 2^exp bytes.
func (r *Ration) get(exp int) []byte {
	size, free := 1<<exp, &r.huge[exp-largeBits-1]
	r.mu.Lock()
	if len(*free) > 0 {
		defer r.mu.Unlock()
		r.bytes -= size
		return pop(free, size)
	}
	r.mu.Unlock()
	return make([]byte, 0, size)
}

// put keeps a huge buffer if there is room for it, and gives to the collector those for which
// there is none any more: connections that give back their last buffers hold little by then.
func (r *Ration) put(b []byte) {
	most := max(r.most, int(r.held()))
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bytes+cap(b) <= most {
		r.bytes += cap(b)
		i := bits.Len(uint(cap(b))) - largeBits - 2
		r.huge[i] = append(r.huge[i], b[:0])
		return
	}
	for i := len(r.huge) - 1; r.bytes > most; {
		if len(r.huge[i]) == 0 {
			i--
			continue
		}
		r.bytes -= cap(pop(&r.huge[i], 0))
	}
}

// Drop gives all of it to the collector.
func (r *Ration) Drop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bytes, r.huge = 0, [hugeBits - largeBits][][]byte{}
}
