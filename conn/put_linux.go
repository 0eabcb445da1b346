package conn

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sendNonblock sends what the kernel takes at once of p, which is not empty. A little
// takes it some microseconds, for which the Go scheduler need not be told.
func sendNonblock(fd int, p []byte) (n int, errno syscall.Errno) {
	for {
		var r uintptr
		if len(p) <= smallBuffer {
			r, _, errno = unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)), unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT, 0, 0)
		} else {
			r, _, errno = unix.Syscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)), unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT, 0, 0)
		}
		if errno != unix.EINTR {
			return int(r), errno
		}
	}
}
