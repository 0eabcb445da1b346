package reactor

import (
	"runtime"
	"sync/atomic"
)

// A pool is the receive memory of one reactor: equal buffers off the Go heap. Slices that were
// received into a buffer share it. A buffer is whole again when it has been filled and every slice
// of it has been given back.
//
// Any goroutine may call drop. Only one at a time may call the rest: the taker of the reactor's
// completions.
type pool struct {
	mem  []byte
	size int
	used []int32 // bytes received into the buffer since it was last whole

	// refs counts the slices handed out, plus filling while more may be received into the buffer.
	// One atomic word holds both, so only the goroutine that brings it to 0 sees that the buffer is
	// whole.
	refs []atomic.Int32
}

// filling is the number that the receiving side adds to a buffer's refs. The number of slices is
// lower, as each has at least one byte.
const filling = 1 << 30

func newPool(buffers, size int) (*pool, error) {
	mem, err := mapMemory(buffers * size)
	if err != nil {
		return nil, err
	}
	return &pool{
		mem:  mem,
		size: size,
		used: make([]int32, buffers),
		refs: make([]atomic.Int32, buffers),
	}, nil
}

// close frees the memory. If slices of it are handed out, other workers may be reading them, and
// will not give them back to a closed reactor. Then the memory is left to the garbage collector,
// which frees it with the pool.
func (p *pool) close() error {
	mem := p.mem
	p.mem = nil
	for id := range p.refs {
		if p.refs[id].Load()&(filling-1) != 0 {
			runtime.AddCleanup(p, func(mem []byte) { _ = unmapMemory(mem) }, mem)
			return nil
		}
	}
	return unmapMemory(mem)
}

// open begins the use of a buffer: it is whole and now takes bytes.
func (p *pool) open(id uint16) {
	p.used[id] = 0
	p.refs[id].Store(filling)
}

// filled ends the receives into a buffer and reports whether it is whole again already.
func (p *pool) filled(id uint16) bool { return p.refs[id].Add(-filling) == 0 }

// shut ends the use of every open buffer. It returns the buffers that are whole then.
func (p *pool) shut() (whole []uint16) {
	for id := range p.refs {
		if p.refs[id].Load() >= filling && p.filled(uint16(id)) {
			whole = append(whole, uint16(id))
		}
	}
	return whole
}

// rest returns the free part of an open buffer.
func (p *pool) rest(id uint16) []byte {
	end := (int(id) + 1) * p.size
	return p.mem[int(id)*p.size+int(p.used[id]) : end : end]
}

// took hands out the n bytes just received into an open buffer.
func (p *pool) took(id uint16, n int) Buffer {
	b := p.rest(id)[:n:n]
	p.refs[id].Add(1)
	p.used[id] += int32(n)
	return Buffer{Bytes: b, id: id}
}

// drop takes a slice of the buffer back and reports whether the buffer is whole again.
func (p *pool) drop(id uint16) bool {
	n := p.refs[id].Add(-1)
	if n == -1 || n == filling-1 { // no slice was handed out
		p.refs[id].Add(1)
		panic("reactor: buffer released twice")
	}
	return n == 0
}
