package flow

import "github.com/suiro-go/suiro/internal/bufs"

// A Transit is bytes on their way from one connection to another, in order. The zero value is
// empty.
type Transit struct {
	bufs [][]byte // none is empty
	gone int      // bytes of the first that have left
	size int
}

// Size is the number of bytes.
func (t *Transit) Size() int { return t.size }

// Extend adds a few bytes to the last buffer. It reports whether that has room for them.
func (t *Transit) Extend(p []byte) bool {
	n := len(t.bufs)
	if n == 0 || len(p) > bufs.Few || cap(t.bufs[n-1])-len(t.bufs[n-1]) < len(p) {
		return false
	}
	t.bufs[n-1] = append(t.bufs[n-1], p...)
	t.size += len(p)
	return true
}

// Add adds a buffer of the pools, which is not empty.
func (t *Transit) Add(b []byte) {
	t.bufs = append(t.bufs, b)
	t.size += len(b)
}

// First is the bytes of the first buffer, of a Transit that is not empty. Extend and Add leave them
// where they are.
func (t *Transit) First() []byte { return t.bufs[0][t.gone:] }

// Take is First, and takes its buffer out.
func (t *Transit) Take() []byte {
	b := t.First()
	t.size -= len(b)
	t.pop()
	return b
}

// Went notes that n bytes of First have left.
func (t *Transit) Went(p *bufs.Pool, n int) {
	t.size -= n
	if t.gone += n; t.gone == len(t.bufs[0]) {
		p.Put(t.bufs[0])
		t.pop()
	}
}

// pop drops the first buffer.
func (t *Transit) pop() {
	n := len(t.bufs)
	copy(t.bufs, t.bufs[1:])
	t.bufs[n-1] = nil
	t.bufs, t.gone = t.bufs[:n-1], 0
}

// Drop drops all bytes.
func (t *Transit) Drop(p *bufs.Pool) {
	for _, b := range t.bufs {
		p.Put(b)
	}
	clear(t.bufs)
	t.bufs, t.gone, t.size = t.bufs[:0], 0, 0
}
