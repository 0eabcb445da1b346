package sock

import (
	"math"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/saturate"
)

// DeferAccept has a listening socket keep each connection to itself until its first bytes are there, or for that long, in
// whole seconds.
func DeferAccept(fd int, most time.Duration) error {
	seconds := saturate.Seconds(most, math.MaxInt32)
	return os.NewSyscallError("setsockopt", unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT, seconds))
}
