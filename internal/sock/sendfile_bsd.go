//go:build darwin || dragonfly || freebsd

package sock

import (
	"syscall"

	"golang.org/x/sys/unix"
)

const HaveSendfile = true

// Sendfile may wait for a disk, so the Go scheduler is told. With an error it has sent
// something all the same, or not.
func Sendfile(to, from int, offset int64, n int) (int, syscall.Errno) {
	for {
		sent, err := unix.Sendfile(to, from, &offset, n)
		if sent > 0 {
			return sent, 0
		}
		if err != unix.EINTR {
			return 0, errnoOf(err)
		}
	}
}
