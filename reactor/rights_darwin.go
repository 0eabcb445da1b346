package reactor

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// recvRights makes the descriptors close-on-exec. The lock prevents a process that starts between
// the calls from inheriting them, as in package net.
func recvRights(fd int, p, control []byte) (n, controlled, flags int, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	n, controlled, flags, _, err = unix.Recvmsg(fd, p, control, unix.MSG_DONTWAIT)
	if err == nil {
		for _, got := range parseRights(control[:controlled]) {
			unix.CloseOnExec(got)
		}
	}
	return n, controlled, flags, err
}
