//go:build dragonfly || freebsd || netbsd

package reactor

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// keventHolding makes the system call without a notice to the Go scheduler.
func keventHolding(fd int, changes, events []keventT, limit *unix.Timespec) (int, syscall.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_KEVENT, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(changes))), uintptr(len(changes)),
		uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), uintptr(unsafe.Pointer(limit)))
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}
