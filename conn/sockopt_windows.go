package conn

import (
	"net"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
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

// Windows' own, which SIO_KEEPALIVE_VALS cannot leave as they are.
const (
	defaultKeepIdle     = 2 * time.Hour
	defaultKeepInterval = time.Second
)

// setKeepAlive uses the call that Windows has had for longest. The number of probes is
// left as it is where it cannot be set.
func setKeepAlive(fd int, k net.KeepAliveConfig) error {
	if !k.Enable {
		return setsockopt(fd, windows.SOL_SOCKET, windows.SO_KEEPALIVE, 0)
	}
	ms := func(d, ifNone time.Duration) uint32 {
		if d < time.Second {
			d = ifNone
		}
		return uint32(d.Truncate(time.Second).Milliseconds())
	}
	vals := windows.TCPKeepalive{OnOff: 1, Time: ms(k.Idle, defaultKeepIdle), Interval: ms(k.Interval, defaultKeepInterval)}
	var got uint32
	err := windows.WSAIoctl(windows.Handle(fd), windows.SIO_KEEPALIVE_VALS, (*byte)(unsafe.Pointer(&vals)),
		uint32(unsafe.Sizeof(vals)), nil, 0, &got, nil, 0)
	if err != nil {
		return callError("wsaioctl", err)
	}
	if k.Count > 0 {
		_ = setsockopt(fd, windows.IPPROTO_TCP, windows.TCP_KEEPCNT, k.Count) // since Windows 10 1703
	}
	return nil
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
