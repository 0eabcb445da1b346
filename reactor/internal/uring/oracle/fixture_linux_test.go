package oracle

import (
	"errors"
	"net"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	. "github.com/suiro-go/suiro/reactor/internal/uring"
)

// patience bounds how long a test waits for a required event. It measures nothing.
const patience = 90 * time.Second

// newTestRing sets a ring up on this thread, to which it locks the test, or skips the test where
// the kernel offers no io_uring.
func newTestRing(t *testing.T, p Params) *Ring {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	r, err := New(p)
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) {
		t.Skipf("there is no io_uring here: %v", err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// prepare fills the next entry by prep.
func prepare(t *testing.T, r *Ring, userData uint64, prep func(*SQE)) {
	t.Helper()
	sqe := r.NextSQE()
	require.NotNil(t, sqe, "the queue is full")
	sqe.UserData = userData
	prep(sqe)
}

// reap submits the prepared entries, and waits for and takes n completions.
func reap(t *testing.T, r *Ring, n int) []CQE {
	t.Helper()
	var got []CQE
	for deadline := time.Now().Add(patience); len(got) < n; {
		require.True(t, time.Now().Before(deadline), "%d completions of %d: %v", len(got), n, got)
		if r.CQReady() == 0 {
			_, errno := r.Enter(1, true, time.Second, false)
			if errno != unix.EINTR && errno != unix.ETIME {
				require.Zero(t, errno, "%v", errno)
			}
		}
		ready := min(int(r.CQReady()), n-len(got))
		for i := range ready {
			got = append(got, *r.CQE(uint32(i)))
		}
		r.AdvanceCQ(uint32(ready))
	}
	return got
}

// offHeap maps n bytes that live as long as the test and the requests of its rings.
func offHeap(t *testing.T, n int) []byte {
	t.Helper()
	p, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Munmap(p)) })
	return p
}

func socketpair(t *testing.T, typ int) (a, b int) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, typ|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = unix.Close(fds[0]) // a test may have closed it already
		_ = unix.Close(fds[1])
	})
	return fds[0], fds[1]
}

// newTestBufRing registers a ring.
func newTestBufRing(t *testing.T, r *Ring, group uint16, entries uint32) *BufRing {
	t.Helper()
	b, err := r.NewBufRing(group, entries, 0)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

func ptr(p []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(p)) }

// listen listens on a free port of loopback.
func listen(t *testing.T) (fd int, addr *unix.SockaddrInet4) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = unix.Close(fd) })
	require.NoError(t, unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	require.NoError(t, unix.Listen(fd, 128))
	sa, err := unix.Getsockname(fd)
	require.NoError(t, err)
	return fd, sa.(*unix.SockaddrInet4)
}

func dial(t *testing.T, addr *unix.SockaddrInet4) net.Conn {
	t.Helper()
	c, err := net.DialTimeout("tcp", (&net.TCPAddr{IP: addr.Addr[:], Port: addr.Port}).String(), patience)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}
