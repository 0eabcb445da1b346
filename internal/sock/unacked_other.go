//go:build !linux

package sock

// Unacked: where the kernel is not asked, what it takes has to tell. The BSDs take more as soon as
// there is a little room.
func Unacked(int) int { return 0 }

// Acknowledged: nobody knows, so the end of Config.LingerTimeout decides.
func Acknowledged(int) bool { return false }
