package bufs

import "sync"

// The sizes of what goroutines use: two of a worker's classes.
const (
	Small = 4 << 10
	Large = 1 << largeBits
)

// The depot is where workers' pools have what they cannot keep, and where goroutines
// get the buffers that a worker is going to send and keep: so those come back.
var depot struct{ small, large sync.Pool }

// GetShared is an empty buffer for a goroutine with room for n bytes, at most
// Large.
func GetShared(n int) []byte {
	if n <= Small {
		if a, ok := depot.small.Get().(*[Small]byte); ok {
			return a[:0]
		}
		return make([]byte, 0, Small)
	}
	if a, ok := depot.large.Get().(*[Large]byte); ok {
		return a[:0]
	}
	return make([]byte, 0, Large)
}

// putShared takes a buffer of one of the two sizes.
func putShared(b []byte) {
	switch cap(b) {
	case Small:
		depot.small.Put((*[Small]byte)(b[:Small]))
	case Large:
		depot.large.Put((*[Large]byte)(b[:Large]))
	}
}
