package reactor

// A pool is the receive memory of one reactor: equal buffers off the Go heap,
// each shared by the slices that were received into it. A buffer is whole again
// when it has been filled and every slice of it has been given back.
//
// Owner thread only.
type pool struct {
	mem     []byte
	size    int
	refs    []int32 // slices handed out
	used    []int32 // bytes received into the buffer since it was last whole
	filling []bool  // more may be received into it
}

func newPool(buffers, size int) (*pool, error) {
	mem, err := mapMemory(buffers * size)
	if err != nil {
		return nil, err
	}
	return &pool{
		mem:     mem,
		size:    size,
		refs:    make([]int32, buffers),
		used:    make([]int32, buffers),
		filling: make([]bool, buffers),
	}, nil
}

func (p *pool) close() error {
	mem := p.mem
	p.mem = nil
	return unmapMemory(mem)
}

// open begins a buffer's use: it is whole and now takes bytes.
func (p *pool) open(id uint16) { p.used[id], p.filling[id] = 0, true }

// filled ends that and reports whether the buffer is whole again already.
func (p *pool) filled(id uint16) bool {
	p.filling[id] = false
	return p.refs[id] == 0
}

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

// drop takes a slice of the buffer back and reports whether it is whole again.
func (p *pool) drop(id uint16) bool {
	if p.refs[id] == 0 {
		panic("reactor: buffer released twice")
	}
	p.refs[id]--
	return p.refs[id] == 0 && !p.filling[id]
}
