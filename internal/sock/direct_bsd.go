//go:build unix && !linux

package sock

import (
	"errors"
	"fmt"
	"syscall"
)

// Calls that the task makes itself. What is spliced is copied: what FreeBSD and OpenBSD
// have of that (SO_SPLICE) takes the sockets away from whoever counts what passes.

// Splice is Linux's.
func Splice(int, int, int) (int, syscall.Errno) { return 0, syscall.EINVAL }

func newPipe(int) (*Pipe, error) {
	return nil, fmt.Errorf("conn: no splice(2) here: %w", errors.ErrUnsupported)
}
