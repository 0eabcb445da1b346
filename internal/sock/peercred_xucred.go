//go:build darwin || freebsd

package sock

import (
	"os"

	"golang.org/x/sys/unix"
)

const solLocal = 0

// PeerCred returns the peer process. The error is ENOTCONN for a socket without a peer, and that of
// getsockopt for one that is no Unix socket.
func PeerCred(fd int) (Cred, error) {
	x, err := unix.GetsockoptXucred(fd, solLocal, unix.LOCAL_PEERCRED)
	if err != nil {
		return Cred{}, os.NewSyscallError("getsockopt", err)
	}
	return Cred{PID: peerPID(fd), UID: x.Uid, GID: x.Groups[0]}, nil
}
