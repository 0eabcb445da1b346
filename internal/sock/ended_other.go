//go:build !linux

package sock

// A Look is for io_uring, which only Linux has.
type Look struct{}

// Add does nothing.
func (*Look) Add(int, bool) {}

// Ended returns no connection.
func (*Look) Ended() ([]int, error) { return nil, nil }
