package uring

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/patience"
)

// newTestRing sets a ring up on this thread, to which it locks the test, or skips the test where
// the kernel offers no io_uring or not these flags.
func newTestRing(t *testing.T, p Params) *Ring {
	t.Helper()
	return newTestRingWithout(t, p, 0)
}

func newTestRingWithout(t *testing.T, p Params, features uint32) *Ring {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	r, err := newRing(p, features)
	switch {
	case errors.Is(err, unix.EPERM):
		t.Skipf("io_uring is forbidden here (kernel.io_uring_disabled or seccomp): %v", err)
	case errors.Is(err, unix.ENOSYS):
		t.Skipf("this kernel has no io_uring: %v", err)
	case errors.Is(err, unix.EINVAL):
		t.Skipf("this kernel lacks setup flags of %#x: %v", p.Flags, err)
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

// submit enters until the kernel has taken every entry.
func submit(t *testing.T, r *Ring) {
	t.Helper()
	for r.Prepared() > 0 {
		_, errno := r.Enter(0, false, -1, false)
		if errno != unix.EINTR && errno != unix.EAGAIN {
			require.Zero(t, errno, "%v", errno)
		}
	}
}

// reap submits the prepared entries, and waits for and takes n completions.
func reap(t *testing.T, r *Ring, n int) []CQE {
	t.Helper()
	var got []CQE
	for deadline := time.Now().Add(patience.Limit); len(got) < n; {
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

// reapByData is reap for completions of distinct user data, whatever their order.
func reapByData(t *testing.T, r *Ring, n int) map[uint64]CQE {
	t.Helper()
	got := map[uint64]CQE{}
	for _, c := range reap(t, r, n) {
		require.NotContains(t, got, c.UserData)
		got[c.UserData] = c
	}
	return got
}

// requireQuiet checks that nothing more completes.
func requireQuiet(t *testing.T, r *Ring) {
	t.Helper()
	_, errno := r.Enter(0, true, -1, false)
	require.Zero(t, errno)
	require.Zero(t, r.CQReady())
}

func (c CQE) String() string {
	res := fmt.Sprint(c.Res)
	if c.Res < 0 {
		res = unix.ErrnoName(unix.Errno(-c.Res))
	}
	return fmt.Sprintf("{%d: %s %#x}", c.UserData, res, c.Flags)
}

// failed is the result of a request that ended with the errno.
func failed(errno unix.Errno) int32 { return -int32(errno) }

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

// newTestBufRing registers a ring, or skips the test where the kernel has none.
func newTestBufRing(t *testing.T, r *Ring, group uint16, entries uint32, flags uint16) *BufRing {
	t.Helper()
	b, err := r.NewBufRing(group, entries, flags)
	if errors.Is(err, unix.EINVAL) {
		t.Skipf("this kernel lacks buffer rings with flags %#x: %v", flags, err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

func ptr(p []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(p)) }
