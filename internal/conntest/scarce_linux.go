package conntest

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// unlowered is the highest limit on open files that NoDescriptors leaves as it is.
const unlowered = 4096

// NoDescriptors leaves the process without a descriptor to spare until restore is called, or
// the test ends. A test that calls it must not run beside others. io_uring holds an Accept to the
// limit at the time when it was submitted. So one that is in flight finds no descriptor only if the
// limit was unlowered or less then.
func NoDescriptors(t testing.TB) (restore func()) {
	t.Helper()
	highest := 2
	for _, d := range Descriptors() {
		number, _, _ := strings.Cut(d, ":")
		fd, err := strconv.Atoi(number)
		require.NoError(t, err)
		highest = max(highest, fd)
	}
	var was unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &was))
	limit := max(uint64(highest)+1, unlowered)
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: min(limit, was.Cur), Max: was.Max}))
	var fill []int
	restore = sync.OnceFunc(func() {
		for _, fd := range fill {
			_ = unix.Close(fd)
		}
		require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &was))
	})
	t.Cleanup(restore)
	for {
		fd, err := unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			require.ErrorIs(t, err, unix.EMFILE)
			return restore
		}
		fill = append(fill, fd)
	}
}

// LockAtMost limits the process's lockable memory, in bytes, and gives up root, to which it does
// not apply. That cannot be taken back: see InChild. The user is one that has nothing else.
func LockAtMost(t testing.TB, limit uint64) {
	t.Helper()
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{Cur: limit, Max: limit}))
	if os.Geteuid() == 0 {
		if err := syscall.Setuid(1<<20 + os.Getpid()); err != nil {
			t.Skipf("root cannot become another user here: %v", err)
		}
	}
}
