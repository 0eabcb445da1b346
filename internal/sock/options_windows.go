package sock

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// HaveReusePort says whether the system spreads connections over sockets that share a port. Windows
// does not: SO_REUSEADDR would let any program take a port over, so it is not set, as in package
// net.
const HaveReusePort = false

// Windows' own, which SIO_KEEPALIVE_VALS cannot leave as they are.
const (
	keepIdle     = 2 * time.Hour
	keepInterval = time.Second
)

// KeepAlive sets the keep-alive probes of a connection, or of those that a listener will accept. A
// field that is 0 gets Windows' default. The number of probes stays unchanged where it cannot be
// set.
func KeepAlive(fd int, k net.KeepAliveConfig) error {
	h := windows.Handle(fd)
	if !k.Enable {
		return os.NewSyscallError("setsockopt", windows.SetsockoptInt(h, windows.SOL_SOCKET, windows.SO_KEEPALIVE, 0))
	}
	ms := func(d, ifNone time.Duration) uint32 {
		if d < time.Second {
			d = ifNone
		}
		return uint32(d.Truncate(time.Second).Milliseconds())
	}
	k = probes(k)
	vals := windows.TCPKeepalive{OnOff: 1, Time: ms(k.Idle, keepIdle), Interval: ms(k.Interval, keepInterval)}
	var got uint32
	err := windows.WSAIoctl(h, windows.SIO_KEEPALIVE_VALS, (*byte)(unsafe.Pointer(&vals)), uint32(unsafe.Sizeof(vals)), nil, 0, &got, nil, 0)
	if err == nil && k.Count > 0 {
		_ = windows.SetsockoptInt(h, windows.IPPROTO_TCP, windows.TCP_KEEPCNT, k.Count) // since Windows 10 1703
	}
	return os.NewSyscallError("wsaioctl", err)
}

// ListenFastOpen takes connections that begin with data; how many may wait is the system's.
func ListenFastOpen(fd, _ int) error {
	const tcpFastOpen = 15 // of ws2ipdef.h
	if err := windows.SetsockoptInt(windows.Handle(fd), windows.IPPROTO_TCP, tcpFastOpen, 1); err != nil {
		return fmt.Errorf("TCP Fast Open takes Windows 10 1607 or later: %w: %w", os.NewSyscallError("setsockopt", err), errors.ErrUnsupported)
	}
	return nil
}
