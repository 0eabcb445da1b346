package conn

// A bufferPool keeps a worker's write and leftover buffers, so that an idle
// connection holds none and a busy one allocates none. The last one given back
// is the next one handed out: it is still in the cache.
type bufferPool struct{ free [len(bufferClasses)][][]byte }

// bufferClasses are the sizes, and how many of each are kept: 2 MiB of it, and 4 of
// the largest.
var bufferClasses = [...]struct{ size, keep int }{
	{4 << 10, 512},
	{16 << 10, 128},
	{64 << 10, 32},
	{256 << 10, 8},
	{1 << 20, 4},
}

// get is an empty buffer with room for n bytes.
func (p *bufferPool) get(n int) []byte {
	for i := range bufferClasses {
		if size := bufferClasses[i].size; n <= size {
			return pop(&p.free[i], size)
		}
	}
	return make([]byte, 0, n)
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

// put takes a buffer that came from get, or nil.
func (p *bufferPool) put(b []byte) {
	for i := range bufferClasses {
		if c := &bufferClasses[i]; cap(b) == c.size {
			if len(p.free[i]) < c.keep {
				p.free[i] = append(p.free[i], b[:0])
			}
			return
		}
	}
}

// grow makes room for n more bytes in b, which may be nil, moving to a larger
// buffer if need be.
func (p *bufferPool) grow(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b
	}
	bigger := p.get(max(len(b)+n, 2*len(b)))
	bigger = append(bigger, b...)
	p.put(b)
	return bigger
}
