//go:build dragonfly || freebsd || linux || netbsd || openbsd

package sock

import (
	"os"

	"golang.org/x/sys/unix"
)

// replace makes the descriptor fd a duplicate of with, close-on-exec, in one step, and so
// closes what fd was.
func replace(with, fd int) error {
	return os.NewSyscallError("dup3", unix.Dup3(with, fd, unix.O_CLOEXEC))
}
