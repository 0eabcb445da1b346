package sockopt

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// DeferAccept has a listening socket keep each connection to itself until its first bytes are there, or for that long, in
// whole seconds.
func DeferAccept(fd int, most time.Duration) error {
	seconds := int((most + time.Second - 1) / time.Second)
	return os.NewSyscallError("setsockopt", unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT, seconds))
}
