//go:build darwin || kqueue

package reactor

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// sysAccept is for systems without accept4. The lock keeps a process that is started
// between the calls from inheriting the descriptor, as in package net.
func sysAccept(fd int) (int, syscall.Errno) {
	syscall.ForkLock.RLock()
	conn, _, err := unix.Accept(fd)
	if err == nil {
		unix.CloseOnExec(conn)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return conn, errnoOf(err)
	}
	if err := unix.SetNonblock(conn, true); err != nil {
		_ = unix.Close(conn)
		return -1, errnoOf(err)
	}
	return conn, 0
}
