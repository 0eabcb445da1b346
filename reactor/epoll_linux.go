package reactor

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/faults"
)

// epoll is a selector, edge-triggered. Its state but for the waker is Poll's and Rescue's.
type epoll struct {
	kernel kernel
	fd     int   // the epoll descriptor
	waker  waker // registered level-triggered

	hold    holdTimer
	events  []unix.EpollEvent
	limit   kernelTimespec // of the wait; here because the kernel reads it, and the heap does not move
	noWait2 bool           // epoll_pwait2 is missing (before Linux 5.11)
	nested  *nested        // waits in Go's poller; nil: in the kernel
}

func probeEpoll(*Config) error {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return explainEpoll(os.NewSyscallError("epoll_create1", err))
	}
	return unix.Close(fd)
}

func explainEpoll(err error) error {
	if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) {
		return fmt.Errorf("%w; raise the limit on open files (ulimit -n)", err)
	}
	return err
}

func openEpoll(cfg *Config) (Reactor, error) {
	k := newKernel(cfg)
	s, err := newEpoll(cfg, k)
	if err != nil {
		return nil, err
	}
	return openReadiness(cfg, k, s)
}

func newEpoll(cfg *Config, k kernel) (_ *epoll, err error) {
	s := &epoll{kernel: k, fd: -1, waker: waker{kernel: k, closed: true}, hold: holdTimer{fd: -1}, events: make([]unix.EpollEvent, 256)}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.fd, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, explainEpoll(os.NewSyscallError("epoll_create1", err))
	}
	if err = s.waker.open(unix.EFD_NONBLOCK); err != nil {
		return nil, explainEpoll(err)
	}
	ev := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(s.waker.fd)}
	if err = unix.EpollCtl(s.fd, unix.EPOLL_CTL_ADD, s.waker.fd, &ev); err != nil {
		return nil, os.NewSyscallError("epoll_ctl", err)
	}
	if cfg.Unlocked {
		if s.nested, err = newNested(s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *epoll) name() string { return "epoll" }

func (s *epoll) wake() error { return s.waker.wake() }

func (s *epoll) close() {
	if s.nested != nil {
		s.nested.close()
	}
	if s.fd >= 0 {
		_ = unix.Close(s.fd)
	}
	if s.hold.fd >= 0 {
		_ = unix.Close(s.hold.fd)
	}
	s.waker.close()
}

func (s *epoll) add(fd int, seq uint32) error {
	ev := unix.EpollEvent{
		Events: unix.EPOLLIN | unix.EPOLLPRI | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET,
		Fd:     int32(fd),
		Pad:    int32(seq),
	}
	errno := s.kernel.control(s.fd, unix.EPOLL_CTL_ADD, fd, &ev)
	if errno == unix.EEXIST {
		// Closed and now back under its number, while another descriptor of
		// the same socket kept it registered: a listener duplicated twice.
		errno = s.kernel.control(s.fd, unix.EPOLL_CTL_MOD, fd, &ev)
	}
	if errno != 0 {
		return os.NewSyscallError("epoll_ctl", errno)
	}
	return nil
}

// remove leaves it to the close: that takes the socket out of the epoll set too, if it
// was its last descriptor.
func (s *epoll) remove(int) {}

func (s *epoll) wait(wait time.Duration, hold bool) (events int, err error) {
	n, errno := 0, syscall.Errno(0)
	if s.nested != nil && wait != 0 {
		n, errno = s.nested.wait(wait)
	} else {
		n, errno = s.waitHere(wait, hold)
	}
	switch errno {
	case 0:
		return n, nil
	case unix.EINTR:
		return 0, nil
	}
	return 0, os.NewSyscallError("epoll_pwait2", errno)
}

// waitHere is epoll_pwait2, or epoll_pwait where it is missing.
func (s *epoll) waitHere(wait time.Duration, hold bool) (int, syscall.Errno) {
	if _, errno := s.kernel.next(faults.Wait, s.fd, 1); errno != 0 {
		return 0, errno
	}
	syscall6 := unix.Syscall6
	if hold || wait == 0 {
		syscall6 = unix.RawSyscall6
	}
	events, most := uintptr(unsafe.Pointer(unsafe.SliceData(s.events))), uintptr(len(s.events))
	if hold && wait > 0 && s.hold.arm(s.kernel, s.fd, wait) {
		wait = -1
	}
	if !s.noWait2 {
		var limit *kernelTimespec
		if wait >= 0 {
			s.limit = makeTimespec(wait)
			limit = &s.limit
		}
		n, _, errno := syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(s.fd), events, most, uintptr(unsafe.Pointer(limit)), 0, 0)
		if errno != unix.ENOSYS {
			return int(n), errno
		}
		s.noWait2 = true
	}
	ms := -1
	if wait >= 0 {
		ms = int((wait + time.Millisecond - 1) / time.Millisecond)
	}
	n, _, errno := syscall6(unix.SYS_EPOLL_PWAIT, uintptr(s.fd), events, most, uintptr(ms), 0, 0)
	return int(n), errno
}

func (s *epoll) news(r *readiness, events int, rescue bool) {
	for i := range events {
		switch ev := &s.events[i]; int(ev.Fd) {
		case s.waker.fd:
			if !rescue { // else it is told again: it is level-triggered
				var count [8]byte
				_, _ = s.kernel.read(faults.WakeRead, s.waker.fd, count[:])
				s.waker.noticed()
			}
		case s.hold.fd:
			s.hold.armed = false
		default:
			s.tell(r, ev)
		}
	}
}

func (s *epoll) tell(r *readiness, ev *unix.EpollEvent) {
	r.edge(int(ev.Fd), uint32(ev.Pad),
		ev.Events&(unix.EPOLLIN|unix.EPOLLPRI|unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0,
		ev.Events&(unix.EPOLLOUT|unix.EPOLLHUP|unix.EPOLLERR) != 0,
		ev.Events&(unix.EPOLLPRI|unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0)
}
