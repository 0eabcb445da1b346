//go:build unix && !linux

package reactortest

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

// cork does nothing. TCP_NOPUSH, which some of these systems have, does not on all of them send its
// data when the connection is shut down. So the data and the end leave one soon after the other.
func cork(testing.TB, net.Conn) {}

// mostDescriptors is more than any test has.
const mostDescriptors = 4096

// descriptors counts the open ones of this process.
func descriptors(testing.TB) (n int) {
	for fd := range mostDescriptors {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil {
			n++
		}
	}
	return n
}

func interrupter() func(unix.Signal) {
	pid := unix.Getpid()
	return func(s unix.Signal) { _ = unix.Kill(pid, s) }
}
