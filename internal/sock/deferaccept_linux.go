package sock

import (
	"math"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/saturate"
)

// DeferAccept makes a listening socket hold each connection back until its first bytes have
// arrived, or for at most this time, in whole seconds.
func DeferAccept(fd int, most time.Duration) error {
	seconds := saturate.Seconds(most, math.MaxInt32)
	return os.NewSyscallError("setsockopt", unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT, seconds))
}
