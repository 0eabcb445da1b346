//go:build unix && !linux

package sock

// LatePort exists only on Linux.
func LatePort(int) {}

// Mode does nothing: only the path can be asked to have a mode, when it is there.
func Mode(int, uint32) error { return nil }

// ConnectFastOpen is Linux's: here it is for those who have the first bytes when they
// connect.
func ConnectFastOpen(int) {}
