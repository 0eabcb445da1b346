package uring

import (
	"io"
	"runtime"
	"runtime/trace"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// deep uses the stack, which grows.
func deep(n int) int {
	var room [1 << 8]byte
	if n == 0 {
		return 0
	}
	room[n%len(room)] = 1
	return deep(n-1) + int(room[n%len(room)])
}

// A thread without a P is in the way of no other goroutine, nor of a collection of garbage, and the
// tracer takes it.
func TestAWaitWithoutAPEndsAmongOtherGoroutines(t *testing.T) {
	if !trace.IsEnabled() {
		require.NoError(t, trace.Start(io.Discard))
		defer trace.Stop()
	}
	for _, procs := range []int{1, 2} {
		before := runtime.GOMAXPROCS(procs)
		defer runtime.GOMAXPROCS(before)
		r := newTestRing(t, Params{Entries: 8})
		event, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
		require.NoError(t, err)
		defer func() { _ = unix.Close(event) }()
		more := make(chan int)
		go func() {
			for i := range more {
				if i%20 == 0 {
					runtime.GC()
				}
				_, _ = unix.Write(event, []byte{1, 0, 0, 0, 0, 0, 0, 0})
			}
		}()
		var n [8]byte
		for i := range 200 {
			prepare(t, r, 1, func(s *SQE) { s.PrepRead(event, n[:], 0) })
			more <- i
			for r.CQReady() == 0 {
				_, errno := r.Enter(1, true, -1, false)
				require.Contains(t, []unix.Errno{0, unix.EINTR}, errno)
			}
			r.AdvanceCQ(1)
			if i%10 == 0 {
				deep(1 << 12)
			}
		}
		close(more)
	}
}
