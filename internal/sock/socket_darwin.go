package sock

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Socket makes a socket, non-blocking and close-on-exec. The lock keeps a process that is
// started between the calls from inheriting it, as in package net.
func Socket(family, kind int) (int, error) {
	syscall.ForkLock.RLock()
	fd, err := unix.Socket(family, kind, 0)
	if err == nil {
		unix.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return -1, os.NewSyscallError("fcntl", err)
	}
	NoSignal(fd)
	return fd, nil
}

// NoSignal prevents SIGPIPE at a send to a peer that has gone. Sockets that a listener accepts
// inherit it.
func NoSignal(fd int) { _ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_NOSIGPIPE, 1) }
