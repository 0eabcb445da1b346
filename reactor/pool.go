package reactor

// A pool is the receive memory of one reactor: equal buffers off the Go heap,
// each shared by the slices that were received into it. The count of a buffer
// is the number of slices handed out, plus one while more may still be
// received into it; at zero it is whole again.
//
// Owner thread only.
type pool struct {
	mem  []byte
	size int
	refs []int32
	used []int32 // bytes received into the buffer since it was last whole
}

func newPool(buffers, size int) (*pool, error) {
	mem, err := mapMemory(buffers * size)
	if err != nil {
		return nil, err
	}
	return &pool{mem: mem, size: size, refs: make([]int32, buffers), used: make([]int32, buffers)}, nil
}

func (p *pool) close() error {
	mem := p.mem
	p.mem = nil
	return unmapMemory(mem)
}

// open begins a buffer's use: it is whole and now takes bytes.
func (p *pool) open(id uint16) { p.refs[id], p.used[id] = 1, 0 }

// rest is the part of an open buffer that nothing was received into yet.
func (p *pool) rest(id uint16) []byte {
	end := (int(id) + 1) * p.size
	return p.mem[int(id)*p.size+int(p.used[id]) : end : end]
}

// took hands out the n bytes just received into an open buffer.
func (p *pool) took(id uint16, n int) Buffer {
	b := p.rest(id)[:n:n]
	p.refs[id]++
	p.used[id] += int32(n)
	return Buffer{Bytes: b, id: id}
}

// drop takes one off the buffer's count and reports whether it is whole again.
func (p *pool) drop(id uint16) bool {
	p.refs[id]--
	if p.refs[id] < 0 {
		panic("reactor: buffer released twice")
	}
	return p.refs[id] == 0
}
