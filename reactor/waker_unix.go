//go:build unix

package reactor

import (
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/faults"
)

// A waker lets other goroutines end a wait, through an eventfd, a pipe, or a function.
//
// A wake writes only if no earlier write is unread. noticed clears the flag, after the descriptor
// has been read and before Poll returns. So after a wake that finds the flag set, Poll always
// returns, and no wake is lost.
type waker struct {
	kernel kernel
	fd     int                  // the descriptor that Poll waits for and reads
	to     int                  // the descriptor to write to: fd, or the other end of the pipe
	call   func() syscall.Errno // called instead of a write; nil: none
	set    atomic.Bool

	mu     sync.Mutex // held while writing, so that no descriptor is closed, and its number not reused, meanwhile
	closed bool
}

func (w *waker) wake() error {
	if w.set.Swap(true) {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for !w.closed {
		switch errno := w.write(); errno {
		case 0, unix.EAGAIN: // a full pipe wakes as well
			return nil
		case unix.EINTR:
		default:
			return os.NewSyscallError("wake", errno)
		}
	}
	return nil
}

func (w *waker) write() syscall.Errno {
	if _, errno := w.kernel.next(faults.WakeWrite, w.fd, 1); errno != 0 {
		return errno
	}
	if w.call != nil {
		return w.call()
	}
	return writeOne(w.to)
}

// drain reads all written bytes.
func (w *waker) drain() {
	var count [8]byte
	_, _ = w.kernel.read(faults.WakeRead, w.fd, count[:])
}

// noticed allows the next wake to write again.
func (w *waker) noticed() { w.set.Store(false) }

// close closes the descriptors. The caller closes the target of call after that.
func (w *waker) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	w.closed = true
	if w.call != nil {
		return
	}
	_ = unix.Close(w.fd)
	if w.to != w.fd {
		_ = unix.Close(w.to)
	}
}
