//go:build unix

package sock

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// KeepAlive sets the keep-alive probes of a connection, or of those that a listener will accept. A
// field that is 0 leaves the system's default. Systems without such an option keep all defaults
// (OpenBSD).
func KeepAlive(fd int, k net.KeepAliveConfig) error {
	on := 0
	if k.Enable {
		on = 1
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE, on); err != nil || !k.Enable || !haveKeepAlive {
		return err
	}
	k = probes(k)
	for _, o := range []struct{ option, value int }{
		{tcpKeepIdle, int(k.Idle / time.Second * keepAliveSecond)},
		{tcpKeepInterval, int(k.Interval / time.Second * keepAliveSecond)},
		{tcpKeepCount, k.Count},
	} {
		if o.value <= 0 {
			continue
		}
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, o.option, o.value); err != nil {
			return err
		}
	}
	return nil
}

// ReusePort lets sockets share a port.
func ReusePort(fd int) error { return unix.SetsockoptInt(fd, unix.SOL_SOCKET, reusePort, 1) }
