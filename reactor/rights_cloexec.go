//go:build unix && !darwin

package reactor

import "golang.org/x/sys/unix"

func recvRights(fd int, p, control []byte) (n, controlled, flags int, err error) {
	n, controlled, flags, _, err = unix.Recvmsg(fd, p, control, unix.MSG_DONTWAIT|unix.MSG_CMSG_CLOEXEC)
	return n, controlled, flags, err
}
