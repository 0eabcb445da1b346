package conn_test

import (
	"net"
	"os"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/conntest"
)

// The kernel's read fails with EAGAIN at the urgent mark if a signal is pending, and a multishot
// receive then waits for the next segment. There is none here, so the worker's look must find the
// bytes behind the mark. Only a receive of the bytes before the mark makes it look. They come in
// one segment with the urgent byte, and the worker is stuck while all of them arrive.
func TestBytesBehindAnUrgentByteComeInASignalStorm(t *testing.T) {
	const rounds = 50
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := serve(t, backend, 1, funcs{data: echo})
		stop := make(chan struct{})
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				select {
				case <-stop:
					return
				default:
					signalEveryThread()
				}
			}
		}()
		defer func() {
			close(stop)
			<-done
		}()
		for range rounds {
			c := f.dial()
			release := f.stick(0)
			raw, err := c.(*net.TCPConn).SyscallConn()
			require.NoError(t, err)
			var urgent error
			require.NoError(t, raw.Control(func(fd uintptr) { urgent = unix.Sendto(int(fd), []byte("before!"), unix.MSG_OOB, nil) }))
			require.NoError(t, urgent)
			write(t, c, "after")
			release()
			require.Equal(t, "beforeafter", string(read(t, c, len("beforeafter"))))
			require.NoError(t, c.Close())
		}
	})
}

// signalEveryThread sends each thread of the process the signal by which Go's scheduler preempts.
func signalEveryThread() {
	threads, _ := os.ReadDir("/proc/self/task")
	for _, thread := range threads {
		if tid, err := strconv.Atoi(thread.Name()); err == nil {
			_ = unix.Tgkill(os.Getpid(), tid, syscall.SIGURG)
		}
	}
}
