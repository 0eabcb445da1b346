package sock

import (
	"os"

	"golang.org/x/sys/unix"
)

// LatePort makes a bind to port 0 leave the choice of the port to connect. Otherwise each port
// serves only one peer at a time. An old kernel ignores it.
func LatePort(fd int) { _ = unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1) }

// Mode sets the mode that a Unix socket's path will have, so that nobody gets in before.
func Mode(fd int, mode uint32) error { return os.NewSyscallError("fchmod", unix.Fchmod(fd, mode)) }

// ConnectFastOpen sends the first bytes with the SYN. An old kernel ignores it.
func ConnectFastOpen(fd int) {
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_FASTOPEN_CONNECT, 1)
}

// ListenFastOpen takes that many connections that have not been acknowledged but sent data.
func ListenFastOpen(fd, queue int) error {
	return os.NewSyscallError("setsockopt", unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_FASTOPEN, queue))
}
