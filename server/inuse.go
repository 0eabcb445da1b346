package server

import (
	"errors"
	"syscall"
	"time"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/bubble"
)

// The kernel keeps the sockets of an io_uring for some milliseconds after its process was killed.
// So an address in use is tried again for a while. There is no way to tell whether the old socket
// belongs to a living process.
const (
	inUsePatience = 500 * time.Millisecond
	inUsePause    = 5 * time.Millisecond
)

// untilFree calls listen until it returns anything but syscall.EADDRINUSE, or for inUsePatience.
func untilFree[T any](listen func() (T, error)) (T, error) {
	for tries := inUsePatience / inUsePause; ; tries-- {
		l, err := listen()
		if err = conn.Portable(err); !errors.Is(err, syscall.EADDRINUSE) || tries == 0 {
			return l, err
		}
		<-bubble.After(inUsePause)
	}
}
