package conn

import (
	"math/bits"
	"sync"
)

// A ration bounds what the buffer pools of a group with Config.MaxMemory keep, so that
// memory that connections have given back does not stay beside what others hold now.
type ration struct {
	keep [len(bufferClasses)]int // buffers of each class, for one worker
	most int                     // bytes of huge buffers, though connections hold less
	held func() int64            // bytes that connections hold

	mu    sync.Mutex // guards what follows
	bytes int        // of the buffers below
	huge  [hugeBits - largeBits][][]byte
}

// newRation has an eighth of the ceiling for the workers' classes, in equal parts, and an
// eighth for huge buffers. While connections hold more than that, as many bytes of huge buffers are
// kept as they hold: buffers that go round under load are no garbage.
func newRation(ceiling, workers int, held func() int64) *ration {
	r := &ration{most: ceiling / 8, held: held}
	for i, c := range bufferClasses {
		r.keep[i] = min(c.keep, ceiling/8/workers/len(bufferClasses)/c.size)
	}
	return r
}

// get is an empty buffer of 2^exp bytes.
func (r *ration) get(exp int) []byte {
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

// put keeps a huge buffer if there is room for it.
func (r *ration) put(b []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bytes+cap(b) > max(r.most, int(r.held())) {
		return
	}
	r.bytes += cap(b)
	i := bits.Len(uint(cap(b))) - largeBits - 2
	r.huge[i] = append(r.huge[i], b[:0])
}

// drop gives all of it to the collector.
func (r *ration) drop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bytes, r.huge = 0, [hugeBits - largeBits][][]byte{}
}
