package bufs

// A Loan is the memory of bytes that Lend has given out in place. It keeps that memory from being
// used again until Return. The zero value is no loan.
type Loan struct {
	block *Block
	owned bool // the Blocks have it no more
}

// Lend gives out the first n bytes in place, as one piece; n < 0: as many as lie in one piece. With
// take they are read. There are n bytes, and at least one.
func (q *Blocks) Lend(n int, take bool) ([]byte, Loan) {
	b := q.first
	switch unread := len(b.Data) - b.From; {
	case n < 0:
		n = unread
	case n > unread:
		b = q.gather(n)
	}
	p := b.Data[b.From : b.From+n : b.From+n]
	if take {
		q.Bytes -= n
		if b.From += n; b.From == len(b.Data) {
			pinned := q.unlink()
			return p, Loan{b, !pinned}
		}
	}
	if q.pinned != b {
		q.pinned, q.pins = b, 0
	}
	q.pins++
	return p, Loan{b, false}
}

// Return ends a loan of the Blocks.
func (q *Blocks) Return(l Loan) {
	switch {
	case l.owned:
		l.block.Put()
	case l.block != nil && l.block == q.pinned:
		if q.pins--; q.pins == 0 {
			q.pinned = nil
		}
	}
}

// gather moves the first n bytes, which lie in several blocks, into one.
func (q *Blocks) gather(n int) *Block {
	b := BlockFor(n)
	b.Data = b.Data[:n]
	bytes := q.Bytes
	q.Read(b.Data)
	q.Bytes = bytes
	if b.next = q.first; b.next == nil {
		q.last = b
	}
	q.first = b
	return b
}
