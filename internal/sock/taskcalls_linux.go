package sock

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// System calls that the task makes itself: io_uring runs such operations on kernel threads, which
// is slow. None waits for a socket.

const HaveSendfile = true

// Sendfile may wait for a disk, so the Go scheduler is told. For EPIPE see brokenPipe.
func Sendfile(to, from int, offset int64, n int) (int, syscall.Errno) {
	for {
		sent, err := unix.Sendfile(to, from, &offset, n)
		if err != unix.EINTR {
			return max(0, sent), brokenPipe(errnoOf(err))
		}
	}
}

// Splice moves up to n bytes from one descriptor to another. One of the two is a pipe.
// SPLICE_F_NONBLOCK is for the pipe; sockets are non-blocking themselves. For EPIPE see brokenPipe.
func Splice(from, to, n int) (int, syscall.Errno) {
	for {
		moved, _, errno := unix.RawSyscall6(unix.SYS_SPLICE, uintptr(from), 0, uintptr(to), 0, uintptr(n), unix.SPLICE_F_NONBLOCK|unix.SPLICE_F_MOVE)
		if errno == 0 {
			return int(moved), 0
		}
		if errno != unix.EINTR {
			return 0, brokenPipe(errno)
		}
	}
}

// brokenPipe returns ECONNRESET in place of EPIPE. A splice(2) or sendfile(2) that has moved some
// bytes before the peer's reset takes the error from the socket and returns the bytes. The next
// call then fails with EPIPE, as after a shutdown. A connection calls neither after its own
// shutdown, and owns both ends of its pipes.
func brokenPipe(errno syscall.Errno) syscall.Errno {
	if errno == unix.EPIPE {
		return unix.ECONNRESET
	}
	return errno
}

// newPipe is a pipe of the size, or of what the system grants of it, at least 64 KiB.
func newPipe(size int) (*Pipe, error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_NONBLOCK|unix.O_CLOEXEC); err != nil {
		return nil, os.NewSyscallError("pipe2", err)
	}
	_, _ = unix.FcntlInt(uintptr(p[1]), unix.F_SETPIPE_SZ, size) // EPERM: the user has many
	got, err := unix.FcntlInt(uintptr(p[1]), unix.F_GETPIPE_SZ, 0)
	if err == nil && got < 64<<10 {
		err = unix.EMFILE
	}
	if err != nil {
		Close(p[0])
		Close(p[1])
		return nil, os.NewSyscallError("fcntl", err)
	}
	return &Pipe{R: p[0], W: p[1], Size: got}, nil
}
