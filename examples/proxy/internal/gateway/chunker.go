package gateway

import "github.com/suiro-go/suiro/examples/http/h1"

// A chunker writes a body in chunks. It gathers small pieces, since a chunk, and a write, for each
// would cost many times their bytes. The zero value is ready.
type chunker struct{ small []byte }

// tiny is below what length a piece is gathered.
const tiny = 1 << 10

// add appends a piece of the body to dst, or gathers it.
func (c *chunker) add(dst, p []byte) []byte {
	if len(p) < tiny {
		c.small = append(c.small, p...)
		return dst
	}
	return h1.AppendChunk(c.flush(dst), p)
}

// flush appends the gathered bytes.
func (c *chunker) flush(dst []byte) []byte {
	dst = h1.AppendChunk(dst, c.small)
	c.small = c.small[:0]
	return dst
}
