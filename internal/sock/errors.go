package sock

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Error is the error of a system call, as package net has it; nil for 0.
func Error(call string, errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return os.NewSyscallError(call, Portable(errno))
}

// Advise adds to an error what to do about it, where that is known.
func Advise(err error) error {
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		return fmt.Errorf("%w; raise the limit on open files (ulimit -n)", err)
	}
	return err
}

// Missing reports whether a system call is not there: the kernel lacks it, or a container's seccomp
// profile refuses it, mostly with EPERM. A caller that has another way takes it; an EPERM of
// anything else then comes again.
func Missing(errno syscall.Errno) bool { return errno == syscall.ENOSYS || errno == syscall.EPERM }
