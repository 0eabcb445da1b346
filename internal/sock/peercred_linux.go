package sock

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// PeerCred returns the peer process. The error is ENOTCONN for a socket without a peer, and
// EOPNOTSUPP for one that is no Unix socket.
func PeerCred(fd int) (Cred, error) {
	if is, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN); err == nil && is != unix.AF_UNIX {
		return Cred{}, os.NewSyscallError("getsockopt", syscall.EOPNOTSUPP)
	}
	c, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return Cred{}, os.NewSyscallError("getsockopt", err)
	}
	if c.Pid == 0 { // what the kernel says of a socket without a peer
		return Cred{}, os.NewSyscallError("getsockopt", syscall.ENOTCONN)
	}
	return Cred{PID: int(c.Pid), UID: c.Uid, GID: c.Gid}, nil
}
