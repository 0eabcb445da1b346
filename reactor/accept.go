//go:build darwin || kqueue

package reactor

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// acceptNow is for systems without accept4. Like package net on these systems, it does not hold
// syscall.ForkLock, although a process that starts between the calls inherits the descriptor. To
// pass a listener to another process makes it blocking for a moment (os.File.Fd). A goroutine that
// blocked here and held the lock would prevent that process from starting.
func acceptNow(fd int) (int, syscall.Errno) {
	conn, _, err := unix.Accept(fd)
	if err != nil {
		return conn, errnoOf(err)
	}
	unix.CloseOnExec(conn)
	if err := unix.SetNonblock(conn, true); err != nil {
		_ = unix.Close(conn)
		return -1, errnoOf(err)
	}
	return conn, 0
}
