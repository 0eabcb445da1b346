//go:build darwin || openbsd

package reactor

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// keventHolding cannot keep the processor: these systems make their calls through their
// libraries, which package unix does as ordinary calls only.
func keventHolding(fd int, changes, events []keventT, limit *unix.Timespec) (int, syscall.Errno) {
	n, err := unix.Kevent(fd, changes, events, limit)
	return n, errnoOf(err)
}
