//go:build darwin || openbsd

package reactor

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// keventHolding cannot keep the processor. These systems make their calls through their libraries,
// and package unix makes such calls only as ordinary calls.
func keventHolding(fd int, changes, events []keventT, limit *unix.Timespec) (int, syscall.Errno) {
	n, err := unix.Kevent(fd, changes, events, limit)
	return n, errnoOf(err)
}
