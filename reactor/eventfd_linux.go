package reactor

import (
	"os"

	"golang.org/x/sys/unix"
)

func (w *waker) open(flags int) (err error) {
	w.fd, err = unix.Eventfd(0, unix.EFD_CLOEXEC|flags)
	w.to, w.closed = w.fd, err != nil
	return os.NewSyscallError("eventfd", err)
}
