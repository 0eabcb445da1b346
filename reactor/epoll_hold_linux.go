package reactor

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/faults"
)

// A holdTimer bounds the holds of an epoll reactor by a timerfd that stays
// armed over many of them until it fires. A time-out of the wait itself would
// have the timer hardware programmed twice for each, which costs more than the
// wait. Only a hold that is to be shorter than that has it set anew.
type holdTimer struct {
	fd int // -1: not made yet
	holdEnd
}

// A holdEnd is when a timer ends the holds of a reactor.
type holdEnd struct {
	armed bool
	wait  time.Duration // it was armed for
	at    time.Time
}

// holdSlack is how much later than it should a hold may end.
const holdSlack = 50 * time.Microsecond

// serves reports whether the timer ends a hold of that length that begins now. For as long as holds are alike it does
// without a look at the clock.
func (h *holdEnd) serves(wait time.Duration) bool {
	return h.armed && (wait >= h.wait || !h.at.After(time.Now().Add(wait+holdSlack)))
}

func (h *holdEnd) set(wait time.Duration) {
	*h = holdEnd{armed: true, wait: wait, at: time.Now().Add(wait)}
}

// arm makes sure that a wait ends within about that time, and reports whether
// it could.
func (h *holdTimer) arm(k kernel, epoll int, wait time.Duration) bool {
	if h.serves(wait) {
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
	if unix.TimerfdSettime(h.fd, 0, &spec, nil) != nil {
		return false
	}
	h.set(wait)
	return true
}
