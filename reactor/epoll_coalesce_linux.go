package reactor

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An epollNap is memory that the kernel reads during a nap. It is part of the reactor, on the heap,
// because the heap does not move.
type epollNap struct {
	fds   [1]unix.PollFd
	limit unix.Timespec
}

// nap waits only for the reactor's own wake-up. The kernel may add the thread's timer slack (50 µs
// by default). A signal ends the nap early.
func (p *epoll) nap(d time.Duration, hold bool) {
	p.napping.fds[0] = unix.PollFd{Fd: int32(p.waker.fd), Events: unix.POLLIN}
	p.napping.limit = unix.NsecToTimespec(d.Nanoseconds())
	syscall6 := unix.Syscall6
	if hold {
		syscall6 = unix.RawSyscall6
	}
	_, _, _ = syscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&p.napping.fds)), 1, uintptr(unsafe.Pointer(&p.napping.limit)), 0, 0, 0)
}
