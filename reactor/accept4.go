//go:build unix && !darwin && !linux

package reactor

import (
	"syscall"

	"golang.org/x/sys/unix"
)

func acceptNow(fd int) (int, syscall.Errno) {
	conn, _, err := syscall.Accept4(fd, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
	return conn, errnoOf(err)
}
