package reactor

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A nested is an epoll descriptor within Go's own poller. An owner that waits for it parks like any
// goroutine, and the thread runs other goroutines. When an event occurs, an idle thread finds the
// owner, and then the goroutines that the owner makes ready, without another wake-up.
//
// Go's poller is edge-triggered and reports each event that reaches the inner descriptor. It
// remembers an event that occurs between the last check and the wait.
type nested struct {
	file  *os.File
	raw   syscall.RawConn
	timed bool // the file has a deadline

	// For the wait in progress: a new function would be an allocation.
	look  func(uintptr) bool
	p     *epoll
	n     int
	errno syscall.Errno
}

func newNested(fd int) (*nested, error) {
	dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, explainLimit(os.NewSyscallError("fcntl", err))
	}
	if err := unix.SetNonblock(dup, true); err != nil { // so that NewFile registers it with the poller
		_ = unix.Close(dup)
		return nil, os.NewSyscallError("fcntl", err)
	}
	w := &nested{file: os.NewFile(uintptr(dup), "epoll")}
	if err := w.file.SetReadDeadline(time.Time{}); err != nil {
		_ = w.file.Close()
		return nil, fmt.Errorf("reactor: Go's poller does not take an epoll descriptor: %w", err)
	}
	if w.raw, err = w.file.SyscallConn(); err != nil {
		_ = w.file.Close()
		return nil, err
	}
	w.look = func(uintptr) bool {
		w.n, w.errno = w.p.wait(0, false)
		return w.n > 0 || w.errno != 0
	}
	return w, nil
}

// wait is epoll's wait; the events are in p.events.
func (w *nested) wait(p *epoll, wait time.Duration) (int, syscall.Errno) {
	var until time.Time
	if wait > 0 {
		until = time.Now().Add(wait)
	}
	if wait > 0 || w.timed {
		w.timed = wait > 0
		if err := w.file.SetReadDeadline(until); err != nil {
			return 0, unix.EBADF // closed
		}
	}
	w.p, w.n, w.errno = p, 0, 0
	if err := w.raw.Read(w.look); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return 0, unix.EBADF
	}
	return w.n, w.errno
}

func (w *nested) close() { _ = w.file.Close() }
