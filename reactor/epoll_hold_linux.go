package reactor

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/faults"
)

// A holdTimer bounds the holds of an epoll reactor by a timerfd that stays armed over many holds
// until it fires. A time-out of the wait itself would make the kernel program the timer hardware
// twice for each hold, which costs more than the wait.
type holdTimer struct {
	fd    int // -1: not made yet
	armed bool
}

// arm makes sure that a wait ends within about this time. It returns false if that is not possible.
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
		// Edge-triggered: each expiry is reported once, so that setting the timer again suffices
		// and no read is needed.
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
