package sock

import (
	"net"

	"golang.org/x/sys/windows"
)

// ResetOnClose makes close send a reset.
func ResetOnClose(fd int) {
	_ = windows.SetsockoptLinger(windows.Handle(fd), windows.SOL_SOCKET, windows.SO_LINGER, &windows.Linger{Onoff: 1})
}

func setsockopt(fd, level, option, value int) error {
	return callError("setsockopt", windows.SetsockoptInt(windows.Handle(fd), level, option, value))
}

// SetNoDelay turns Nagle's algorithm off (true) or on.
func SetNoDelay(fd int, on bool) error {
	return setsockopt(fd, windows.IPPROTO_TCP, windows.TCP_NODELAY, boolInt(on))
}

// SetReadBuffer sets the size of the kernel's receive buffer, in bytes.
func SetReadBuffer(fd, bytes int) error {
	return setsockopt(fd, windows.SOL_SOCKET, windows.SO_RCVBUF, bytes)
}

// SetWriteBuffer sets the size of the kernel's send buffer, in bytes.
func SetWriteBuffer(fd, bytes int) error {
	return setsockopt(fd, windows.SOL_SOCKET, windows.SO_SNDBUF, bytes)
}

// SegmentSize is not known.
func SegmentSize(int) int { return 0 }

// SetKeepAlive is KeepAlive with an error that users are given.
func SetKeepAlive(fd int, k net.KeepAliveConfig) error { return Portable(KeepAlive(fd, k)) }

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Lingers returns true: on Windows it does not matter for the way in which a socket is closed.
func Lingers(int) bool { return true }
