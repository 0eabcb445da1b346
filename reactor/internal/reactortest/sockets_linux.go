package reactortest

import (
	"net"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// cork makes a TCP connection keep written bytes until it is shut down, so that the end and the
// data leave together.
func cork(t testing.TB, c net.Conn) {
	t.Helper()
	control(t, c, func(fd int) error { return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_CORK, 1) })
}

// descriptors counts the open ones of this process.
func descriptors(t testing.TB) int {
	t.Helper()
	dir, err := os.Open("/proc/self/fd")
	require.NoError(t, err)
	defer func() { require.NoError(t, dir.Close()) }()
	names, err := dir.Readdirnames(-1)
	require.NoError(t, err)
	return len(names) - 1 // without dir itself
}

func interrupter() func(unix.Signal) {
	pid, tid := unix.Getpid(), unix.Gettid()
	return func(s unix.Signal) { _ = unix.Tgkill(pid, tid, s) }
}
