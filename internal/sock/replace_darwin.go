package sock

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// replace makes the descriptor fd a duplicate of with, close-on-exec, and so closes what fd
// was. The lock keeps a process that is started between the calls from inheriting it.
func replace(with, fd int) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := unix.Dup2(with, fd); err != nil {
		return os.NewSyscallError("dup2", err)
	}
	unix.CloseOnExec(fd)
	return nil
}
