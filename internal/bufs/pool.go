package bufs

import (
	"math/bits"
	"sync"
)

// A Pool keeps a worker's write and leftover buffers, so that an idle connection holds none and a
// busy one allocates none. The last one given back is the next one handed out: it is still in the
// cache. All workers share huge buffers, which are rarely many. As garbage, huge buffers would take
// a multiple of the memory in use until the collector runs.
//
// With conn.Config.MaxMemory the pools are bounded too (see Ration). The pools of all workers
// together keep an eighth of it. Huge buffers take another eighth or, while connections hold more,
// as much as those hold. Huge buffers are dropped when the last connection ends.
type Pool struct {
	free   [len(classes)][][]byte
	Ration *Ration // nil: MaxMemory is not set
}

// classes are the sizes, and how many of each a worker keeps: 2 MiB.
var classes = [...]struct{ size, keep int }{
	{Small, 512},
	{16 << 10, 128},
	{Large, 32},
}

const (
	largeBits = 16
	hugeBits  = 24 // the largest that are kept: 16 MiB

	Few = 4 << 10 // a copy of this many bytes costs less than another buffer
)

// huge has, at i, buffers of 2^(largeBits+1+i) bytes.
var huge [hugeBits - largeBits]sync.Pool

// Get is an empty buffer with room for n bytes.
func (p *Pool) Get(n int) []byte {
	for i := range classes {
		if size := classes[i].size; n <= size {
			return pop(&p.free[i], size)
		}
	}
	exp := bits.Len(uint(n - 1))
	if exp > hugeBits {
		return make([]byte, 0, n)
	}
	if p.Ration != nil {
		return p.Ration.get(exp)
	}
	if b, ok := huge[exp-largeBits-1].Get().(*[]byte); ok {
		return *b
	}
	return make([]byte, 0, 1<<exp)
}

func pop(from *[][]byte, size int) []byte {
	if n := len(*from); n > 0 {
		b := (*from)[n-1]
		(*from)[n-1] = nil
		*from = (*from)[:n-1]
		return b
	}
	return make([]byte, 0, size)
}

// Put takes a buffer that came from Get, or nil.
func (p *Pool) Put(b []byte) {
	if b != nil {
		p.put(b)
	}
}

func (p *Pool) put(b []byte) {
	for i := range classes {
		if c := &classes[i]; cap(b) == c.size {
			switch {
			case p.Ration != nil && len(p.free[i]) >= p.Ration.keep[i]: // the collector takes it
			case len(p.free[i]) < c.keep:
				p.free[i] = append(p.free[i], b[:0])
			default:
				putShared(b) // of the sizes that goroutines take from there
			}
			return
		}
	}
	if cap(b) > 1<<largeBits && cap(b) <= 1<<hugeBits && cap(b)&(cap(b)-1) == 0 {
		if p.Ration != nil {
			p.Ration.put(b)
			return
		}
		kept := b[:0] // a variable of its own: with the address of b every call would allocate
		huge[bits.Len(uint(cap(b)))-largeBits-2].Put(&kept)
	}
}

// Grow makes room for n more bytes in b, which may be nil, moving to a larger
// buffer if need be.
func (p *Pool) Grow(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b
	}
	bigger := p.Get(max(len(b)+n, 2*len(b)))
	bigger = append(bigger, b...)
	p.Put(b)
	return bigger
}
