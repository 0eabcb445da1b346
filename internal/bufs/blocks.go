package bufs

import (
	"bytes"
	"math/bits"
	"sync"
)

// Blocks are the bytes that have arrived for a Socket and are not read yet, in blocks
// from a pool that all sockets share. An empty one holds no block.
type Blocks struct {
	first, last *Block
	Bytes       int // unread

	pinned *Block // the first, if it is pinned: its memory is not used again; nil: it is not
	pins   int    // loans of it
}

// A Block is a piece of Blocks. The unread bytes are Data[From:].
type Block struct {
	next *Block
	Data []byte // its capacity is Small or Large, or its memory is used once
	From int
}

var (
	smallBlocks = sync.Pool{New: func() any { return &Block{Data: make([]byte, 0, Small)} }}
	largeBlocks = sync.Pool{New: func() any { return &Block{Data: make([]byte, 0, Large)} }}
)

func GetBlock(n int) *Block {
	if n <= Small {
		return smallBlocks.Get().(*Block)
	}
	return largeBlocks.Get().(*Block)
}

// BlockFor is an empty block with room for n bytes. The size of a huge one, whose memory is used
// once, is a power of two: so bytes that arrive behind others are seldom moved.
func BlockFor(n int) *Block {
	if n <= Large {
		return GetBlock(n)
	}
	return &Block{Data: make([]byte, 0, 1<<bits.Len(uint(n)))}
}

func (b *Block) Put() {
	*b = Block{Data: b.Data[:0]}
	switch cap(b.Data) {
	case Small:
		smallBlocks.Put(b)
	case Large:
		largeBlocks.Put(b)
	}
}

// Append adds a copy of p.
func (q *Blocks) Append(p []byte) {
	q.Bytes += len(p)
	for len(p) > 0 {
		b := q.last
		if b == nil || len(b.Data) == cap(b.Data) {
			b = GetBlock(q.Bytes) // much is waiting: more is to come
			if q.last == nil {
				q.first = b
			} else {
				q.last.next = b
			}
			q.last = b
		}
		n := copy(b.Data[len(b.Data):cap(b.Data)], p)
		b.Data, p = b.Data[:len(b.Data)+n], p[n:]
	}
}

// Read moves bytes into p, as many as there are and fit.
func (q *Blocks) Read(p []byte) (n int) {
	for n < len(p) && q.first != nil {
		b := q.first
		m := copy(p[n:], b.Data[b.From:])
		n += m
		if b.From += m; b.From == len(b.Data) {
			q.drop()
		}
	}
	q.Bytes -= n
	return n
}

// Take removes the first block, whose unread bytes the caller then has, until it calls
// its Put; nil: it is empty.
func (q *Blocks) Take() *Block {
	b := q.first
	if b == nil {
		return nil
	}
	q.Bytes -= len(b.Data) - b.From
	if q.unlink() {
		return &Block{Data: bytes.Clone(b.Data[b.From:])}
	}
	return b
}

func (q *Blocks) drop() {
	b := q.first
	if !q.unlink() {
		b.Put()
	}
}

// unlink takes the first block out. If it is pinned, its memory must not be used again.
func (q *Blocks) unlink() (pinned bool) {
	b := q.first
	if b == q.pinned {
		q.pinned, pinned = nil, true
	}
	if q.first = b.next; q.first == nil {
		q.last = nil
	}
	b.next = nil
	return pinned
}

// Held is how many blocks it holds.
func (q *Blocks) Held() (n int) {
	for b := q.first; b != nil; b = b.next {
		n++
	}
	return n
}

// Clear drops everything.
func (q *Blocks) Clear() {
	for q.first != nil {
		q.drop()
	}
	q.Bytes = 0
}
