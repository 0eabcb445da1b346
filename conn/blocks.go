package conn

import "sync"

// A blockQueue is the bytes that have arrived for a Socket and are not read yet, in blocks
// from a pool that all sockets share. An empty one holds no block.
type blockQueue struct {
	first, last *block
	bytes       int
}

// A block is a piece of a blockQueue. What is unread is data[from:].
type block struct {
	next *block
	data []byte // its capacity is smallBuffer or largeBuffer
	from int
}

var (
	smallBlocks = sync.Pool{New: func() any { return &block{data: make([]byte, 0, smallBuffer)} }}
	largeBlocks = sync.Pool{New: func() any { return &block{data: make([]byte, 0, largeBuffer)} }}
)

func getBlock(n int) *block {
	if n <= smallBuffer {
		return smallBlocks.Get().(*block)
	}
	return largeBlocks.Get().(*block)
}

func (b *block) put() {
	*b = block{data: b.data[:0]}
	if cap(b.data) == smallBuffer {
		smallBlocks.Put(b)
	} else {
		largeBlocks.Put(b)
	}
}

// append adds a copy of p.
func (q *blockQueue) append(p []byte) {
	q.bytes += len(p)
	for len(p) > 0 {
		b := q.last
		if b == nil || len(b.data) == cap(b.data) {
			b = getBlock(q.bytes) // much is waiting: more is to come
			if q.last == nil {
				q.first = b
			} else {
				q.last.next = b
			}
			q.last = b
		}
		n := copy(b.data[len(b.data):cap(b.data)], p)
		b.data, p = b.data[:len(b.data)+n], p[n:]
	}
}

// read moves bytes into p, as many as there are and fit.
func (q *blockQueue) read(p []byte) (n int) {
	for n < len(p) && q.first != nil {
		b := q.first
		m := copy(p[n:], b.data[b.from:])
		n += m
		if b.from += m; b.from == len(b.data) {
			q.drop()
		}
	}
	q.bytes -= n
	return n
}

// take removes the first block, whose unread bytes the caller then has, until it calls
// its put; nil: it is empty.
func (q *blockQueue) take() *block {
	b := q.first
	if b == nil {
		return nil
	}
	q.bytes -= len(b.data) - b.from
	q.unlink()
	return b
}

func (q *blockQueue) drop() {
	b := q.first
	q.unlink()
	b.put()
}

func (q *blockQueue) unlink() {
	b := q.first
	if q.first = b.next; q.first == nil {
		q.last = nil
	}
	b.next = nil
}

// clear drops everything.
func (q *blockQueue) clear() {
	for q.first != nil {
		q.drop()
	}
	q.bytes = 0
}
