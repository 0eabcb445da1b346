//go:build !linux

package conn

// keeps: where the kernel is not asked, what it takes has to tell. The BSDs take more as soon as
// there is a little room.
func keeps(int) int { return 0 }

// acknowledged: nobody knows, so the end of Config.Linger decides.
func acknowledged(int) bool { return false }
