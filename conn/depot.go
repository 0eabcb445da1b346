package conn

import "sync"

// The depot is where workers' pools have what they cannot keep, and where goroutines
// get the buffers that a worker is going to send and keep: so those come back.
var depot struct{ small, large sync.Pool }

// getShared is an empty buffer for a goroutine with room for n bytes, at most
// largeBuffer.
func getShared(n int) []byte {
	if n <= smallBuffer {
		if a, ok := depot.small.Get().(*[smallBuffer]byte); ok {
			return a[:0]
		}
		return make([]byte, 0, smallBuffer)
	}
	if a, ok := depot.large.Get().(*[largeBuffer]byte); ok {
		return a[:0]
	}
	return make([]byte, 0, largeBuffer)
}

// putShared takes a buffer of one of the two sizes.
func putShared(b []byte) {
	switch cap(b) {
	case smallBuffer:
		depot.small.Put((*[smallBuffer]byte)(b[:smallBuffer]))
	case largeBuffer:
		depot.large.Put((*[largeBuffer]byte)(b[:largeBuffer]))
	}
}
