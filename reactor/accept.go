//go:build darwin || kqueue

package reactor

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// acceptNow is for systems without accept4. As in package net it does without
// syscall.ForkLock, though a process that is started between the calls inherits the
// descriptor: to give a listener to another process makes it blocking for a moment (os.File.Fd),
// and who waits here with that lock would keep that process from being started.
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
