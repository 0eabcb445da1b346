//go:build unix && !darwin

package sock

import (
	"os"

	"golang.org/x/sys/unix"
)

// Socket makes a socket, non-blocking and close-on-exec.
func Socket(family, kind int) (int, error) {
	fd, err := unix.Socket(family, kind|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	return fd, os.NewSyscallError("socket", err)
}

// NoSignal keeps a send to a peer that has gone from raising SIGPIPE, where sends do not
// say so themselves.
func NoSignal(int) {}
