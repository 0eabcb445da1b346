package load

// ChunkSize is what a server of chunks answers to each byte that it receives, in bytes.
const ChunkSize = 1 << 20

// variants is how many different messages of a size there are.
const variants = 256

// payload is what all messages are pieces of. It does not repeat within less than a mebibyte, so a
// piece that arrives in another's place shows.
type payload []byte

func newPayload(size int) payload {
	p := make(payload, size+variants)
	x := uint64(0x9E3779B97F4A7C15)
	for i := range p {
		x ^= x << 13 // xorshift, by Marsaglia
		x ^= x >> 7
		x ^= x << 17
		if p[i] = byte(x >> 32); p[i] == Mark {
			p[i]++
		}
	}
	return p
}

// message is the one with that number.
func (p payload) message(n int) []byte {
	n %= variants
	return p[n : len(p)-variants+n]
}

// marked is the message of a slow connection.
func (p payload) marked() []byte {
	m := append([]byte(nil), p.message(0)...)
	m[0] = Mark
	return m
}

// A Chunker holds the answers of a server of chunks. Its methods may be called by any goroutine.
type Chunker struct{ payload payload }

// NewChunker takes a mebibyte.
func NewChunker() *Chunker { return &Chunker{newPayload(ChunkSize)} }

// Chunk is the answer to that byte, ChunkSize long. It is shared: not to be written to.
func (c *Chunker) Chunk(request byte) []byte { return c.payload.message(int(request)) }
