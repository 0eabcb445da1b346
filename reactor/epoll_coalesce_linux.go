package reactor

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// nap sleeps in the kernel, which may add the thread's timer slack (50 µs, if nobody has changed it). A signal ends it early.
func (p *epoll) nap(d time.Duration, hold bool) {
	ts := unix.NsecToTimespec(d.Nanoseconds())
	syscall := unix.Syscall
	if hold {
		syscall = unix.RawSyscall
	}
	_, _, _ = syscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&ts)), 0, 0)
}
