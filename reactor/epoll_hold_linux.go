package reactor

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/faults"
)

// A holdTimer bounds the holds of an epoll reactor by a timerfd that stays
// armed over many of them until it fires. A time-out of the wait itself would
// have the timer hardware programmed twice for each, which costs more than the
// wait.
type holdTimer struct {
	fd    int // -1: not made yet
	armed bool
}

// arm makes sure that a wait ends within about that time, and reports whether
// it could.
func (h *holdTimer) arm(k kernel, epoll int, wait time.Duration) bool {
	if h.armed {
		return true
	}
	if _, errno := k.next(faults.Timer, h.fd, 1); errno != 0 {
		return false
	}
	if h.fd < 0 {
		fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
		if err != nil {
			return false
		}
		// Edge-triggered: each firing is reported once, and setting the timer
		// again takes the place of reading it.
		ev := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: int32(fd)}
		if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, fd, &ev); err != nil {
			_ = unix.Close(fd)
			return false
		}
		h.fd = fd
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(wait.Nanoseconds())}
	h.armed = unix.TimerfdSettime(h.fd, 0, &spec, nil) == nil
	return h.armed
}
