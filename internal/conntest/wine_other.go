//go:build !windows

package conntest

// Wine reports whether Windows is emulated.
func Wine() bool { return false }
