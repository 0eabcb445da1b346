package conntest

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Forbid makes system calls fail with errno in the whole process, as a container's seccomp profile
// does. That cannot be taken back, so it is for a test that runs itself again as a child.
func Forbid(errno unix.Errno, calls ...uintptr) error {
	const (
		load  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS // of the call's number, at offset 0
		equal = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		ret   = unix.BPF_RET | unix.BPF_K
	)
	filter := []unix.SockFilter{{Code: load}}
	for _, call := range calls {
		filter = append(filter,
			unix.SockFilter{Code: equal, K: uint32(call), Jt: 0, Jf: 1},
			unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_ERRNO | uint32(errno)})
	}
	filter = append(filter, unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_ALLOW})
	prog := &unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	_, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(prog)))
	runtime.KeepAlive(filter)
	if e != 0 {
		return e
	}
	return nil
}

// A Profile is a set of system calls that a container refuses.
type Profile struct {
	Name  string
	Errno unix.Errno
	Calls []uintptr
}

// Forbid makes the process one of such a container. See the function Forbid.
func (p Profile) Forbid() error { return Forbid(p.Errno, p.Calls...) }

// Profiles are containers that refuse io_uring.
var Profiles = []Profile{
	// The default profile of Docker since 25.0 and of containerd since 2.0.
	{"Docker", unix.EPERM, uring},
	// A kernel in user space, such as gVisor, lacks calls. So do old ones: epoll_pwait2 came with
	// Linux 5.11.
	{"kernel in user space", unix.ENOSYS, optional},
	// A list of allowed calls that was written before these calls were used: systemd's
	// SystemCallFilter with SystemCallErrorNumber=EPERM, or Docker's profile from before
	// epoll_pwait2, whose answer to unknown calls is EPERM.
	{"list of allowed calls", unix.EPERM, optional},
}

var (
	uring = []uintptr{unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER}

	// optional has the calls for which the library has another way. SYS_CLOSE_RANGE and the calls
	// of pidfds are here for package os, which does without them as well.
	optional = append([]uintptr{
		unix.SYS_EPOLL_PWAIT2, unix.SYS_TIMERFD_CREATE, unix.SYS_MEMBARRIER, unix.SYS_SPLICE, unix.SYS_SENDFILE,
		unix.SYS_PIDFD_OPEN, unix.SYS_PIDFD_SEND_SIGNAL, unix.SYS_CLOSE_RANGE,
	}, uring...)
)
