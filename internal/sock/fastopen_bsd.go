//go:build darwin || freebsd

package sock

import (
	"os"

	"golang.org/x/sys/unix"
)

// ListenFastOpen takes connections that begin with data; how many may wait is the
// system's. FreeBSD refuses unless sysctl net.inet.tcp.fastopen.server_enable allows it.
// Darwin takes it of a socket that listens already.
func ListenFastOpen(fd, _ int) error {
	return os.NewSyscallError("setsockopt", unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_FASTOPEN, 1))
}
