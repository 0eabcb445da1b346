//go:build unix && !linux

package sock

import (
	"errors"
	"fmt"
	"syscall"
)

// System calls that the task makes itself. Splicing copies bytes: SO_SPLICE of FreeBSD and OpenBSD
// gives the sockets to the kernel, so that the bytes cannot be counted.

// Splice exists only on Linux.
func Splice(int, int, int) (int, syscall.Errno) { return 0, syscall.EINVAL }

func newPipe(int) (*Pipe, error) {
	return nil, fmt.Errorf("conn: no splice(2) here: %w", errors.ErrUnsupported)
}
