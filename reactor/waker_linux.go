package reactor

import (
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/faults"
)

// A waker is the eventfd through which other goroutines end a wait.
//
// A wake writes only if no write is on its way. The flag is cleared by noticed,
// after the eventfd has been read and before Poll returns; so a wake that finds
// it set is always followed by a return of Poll, and none is lost.
type waker struct {
	kernel kernel
	fd     int
	set    atomic.Bool

	mu     sync.Mutex // held while writing, so that fd is not closed, and its number not reused, meanwhile
	closed bool
}

func (w *waker) open(flags int) (err error) {
	w.fd, err = unix.Eventfd(0, unix.EFD_CLOEXEC|flags)
	w.closed = err != nil
	return os.NewSyscallError("eventfd", err)
}

func (w *waker) wake() error {
	if w.set.Swap(true) {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	one := [8]byte{1}
	for !w.closed {
		_, errno := w.kernel.next(faults.WakeWrite, w.fd, 1)
		if errno == 0 {
			_, _, errno = unix.RawSyscall(unix.SYS_WRITE, uintptr(w.fd), uintptr(unsafe.Pointer(&one)), 8)
		}
		switch errno {
		case 0:
			return nil
		case unix.EINTR:
		default:
			return os.NewSyscallError("write", errno)
		}
	}
	return nil
}

// noticed allows the next wake to write again.
func (w *waker) noticed() { w.set.Store(false) }

func (w *waker) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.closed = true
		_ = unix.Close(w.fd)
	}
}
