package conn

import (
	"net"

	"golang.org/x/sys/windows"

	"github.com/suiro-go/suiro/internal/sockopt"
)

// resetOnClose makes close send a reset.
func resetOnClose(fd int) {
	_ = windows.SetsockoptLinger(windows.Handle(fd), windows.SOL_SOCKET, windows.SO_LINGER, &windows.Linger{Onoff: 1})
}

func setsockopt(fd, level, option, value int) error {
	return callError("setsockopt", windows.SetsockoptInt(windows.Handle(fd), level, option, value))
}

func setNoDelay(fd int, on bool) error {
	return setsockopt(fd, windows.IPPROTO_TCP, windows.TCP_NODELAY, boolInt(on))
}

func setReadBuffer(fd, bytes int) error {
	return setsockopt(fd, windows.SOL_SOCKET, windows.SO_RCVBUF, bytes)
}

func setWriteBuffer(fd, bytes int) error {
	return setsockopt(fd, windows.SOL_SOCKET, windows.SO_SNDBUF, bytes)
}

// segmentSize is not known.
func segmentSize(int) int { return 0 }

func setKeepAlive(fd int, k net.KeepAliveConfig) error { return portable(sockopt.KeepAlive(fd, k)) }

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// lingers: closing a socket is not told of any differently here.
func lingers(int) bool { return true }
