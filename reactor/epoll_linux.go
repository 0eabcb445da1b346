package reactor

import (
	"errors"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/faults"
)

// epoll is the poller over epoll. A descriptor's registration carries its sequence number, so that
// events of a closed descriptor with the same number are recognized.
type epoll struct {
	kernel kernel
	fd     int
	waker  waker // registered level-triggered, so that a Rescue does not consume it

	// Used by Poll and Rescue only.
	hold    holdTimer
	events  []unix.EpollEvent
	limit   kernelTimespec // of the wait; a field because the kernel reads it, and the heap does not move
	noWait2 bool           // epoll_pwait2 is missing (before Linux 5.11), or a seccomp profile forbids it
	napping epollNap
	rest    *rest // nil: a long wait is one in the kernel
	got     int   // the events and the error of the poll in a rest
	errno   syscall.Errno
}

func probeEpoll(*Config) error {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return explainLimit(os.NewSyscallError("epoll_create1", err))
	}
	return unix.Close(fd)
}

func openEpoll(cfg *Config) (_ Reactor, err error) {
	k := newKernel(cfg)
	p := &epoll{
		kernel: k, fd: -1, waker: waker{kernel: k, closed: true}, hold: holdTimer{fd: -1},
		events: make([]unix.EpollEvent, 256),
	}
	if err = p.open(cfg.Unlocked); err != nil {
		p.close()
		return nil, err
	}
	k.renews(p.again)
	return openReadiness(cfg, k, p)
}

func (p *epoll) open(unlocked bool) (err error) {
	if p.fd, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return explainLimit(os.NewSyscallError("epoll_create1", err))
	}
	if err = p.waker.open(unix.EFD_NONBLOCK); err != nil {
		return explainLimit(err)
	}
	ev := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(p.waker.fd)}
	if err = unix.EpollCtl(p.fd, unix.EPOLL_CTL_ADD, p.waker.fd, &ev); err != nil {
		return os.NewSyscallError("epoll_ctl", err)
	}
	if p.rest, err = newRest(p.fd, p.pollInRest); err != nil && unlocked {
		return err
	}
	return nil
}

func (p *epoll) name() string { return "epoll" }

func (p *epoll) wake() error { return p.waker.wake() }

func (p *epoll) close() {
	p.kernel.close()
	if p.rest != nil {
		p.rest.close()
	}
	if p.fd >= 0 {
		_ = unix.Close(p.fd)
	}
	if p.hold.fd >= 0 {
		_ = unix.Close(p.hold.fd)
	}
	p.waker.close()
}

func (p *epoll) watch(fd int, f *fdState) error {
	if _, errno := p.kernel.next(faults.Control, fd, 1); errno != 0 {
		return os.NewSyscallError("epoll_ctl", errno)
	}
	if p.kernel.faults != nil {
		p.kernel.faults.watches(fd, f.seq, f.inKind == Watch)
	}
	err := p.control(unix.EPOLL_CTL_ADD, fd, f.seq, f.traits&forRoom != 0)
	if errors.Is(err, unix.EEXIST) {
		// The number was closed and reused, while another descriptor of the same socket kept it
		// registered: a listener duplicated twice.
		err = p.control(unix.EPOLL_CTL_MOD, fd, f.seq, f.traits&forRoom != 0)
	}
	return os.NewSyscallError("epoll_ctl", err)
}

// widen adds output to the watched events. The kernel then reports the whole state of the
// descriptor again.
func (p *epoll) widen(fd int, f *fdState) error {
	if _, errno := p.kernel.next(faults.Control, fd, 1); errno != 0 {
		return os.NewSyscallError("epoll_ctl", errno)
	}
	return os.NewSyscallError("epoll_ctl", p.control(unix.EPOLL_CTL_MOD, fd, f.seq, true))
}

func (p *epoll) control(op, fd int, seq uint32, room bool) error {
	ev := unix.EpollEvent{
		Events: unix.EPOLLIN | unix.EPOLLPRI | unix.EPOLLRDHUP | unix.EPOLLET,
		Fd:     int32(fd),
		Pad:    int32(seq),
	}
	if room {
		ev.Events |= unix.EPOLLOUT
	}
	return unix.EpollCtl(p.fd, op, fd, &ev)
}

// again makes the kernel report the whole state of a descriptor as new edges.
func (p *epoll) again(fd int, seq uint32) { _ = p.control(unix.EPOLL_CTL_MOD, fd, seq, true) }

// forget leaves the registration to the close, which removes it if the descriptor was the socket's
// last one.
func (p *epoll) forget(fd int, _ *fdState) { p.kernel.unwatches(fd) }

func (p *epoll) unwatch(fd int, _ *fdState) bool {
	p.kernel.unwatches(fd)
	_ = unix.EpollCtl(p.fd, unix.EPOLL_CTL_DEL, fd, nil) // fails only if there is no watch to end
	return true
}

func (p *epoll) prepare() {}

func (p *epoll) unsent() bool { return false }

// wait waits in a rest, unless the owner holds its processor or does not wait.
func (p *epoll) wait(wait time.Duration, hold bool) (int, syscall.Errno) {
	if p.rest != nil {
		if wait != 0 && !hold {
			p.got, p.errno = 0, 0
			p.rest.open()
			if p.rest.wait(wait) != nil {
				return 0, unix.EBADF // closed
			}
			return p.got, p.errno
		}
		p.rest.polled()
	}
	return p.ask(wait, hold)
}

func (p *epoll) pollInRest() bool {
	p.got, p.errno = p.ask(0, false)
	return p.got > 0 || p.errno != 0
}

// ask is epoll_pwait2, or epoll_pwait where it is missing.
func (p *epoll) ask(wait time.Duration, hold bool) (int, syscall.Errno) {
	if _, errno := p.kernel.next(faults.Wait, p.fd, 1); errno != 0 {
		return 0, errno
	}
	syscall6 := unix.Syscall6
	if hold || wait == 0 {
		syscall6 = unix.RawSyscall6
	}
	events, most := uintptr(unsafe.Pointer(unsafe.SliceData(p.events))), uintptr(len(p.events))
	if hold && wait > 0 && p.hold.arm(p.kernel, p.fd, wait) {
		wait = -1
	}
	if !p.noWait2 {
		var limit *kernelTimespec
		if wait >= 0 {
			p.limit = makeTimespec(wait)
			limit = &p.limit
		}
		n, _, errno := syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(p.fd), events, most, uintptr(unsafe.Pointer(limit)), 0, 0)
		if errno != unix.ENOSYS && errno != unix.EPERM {
			return int(n), errno
		}
		p.noWait2 = true
	}
	ms := -1
	if wait >= 0 {
		ms = int((wait + time.Millisecond - 1) / time.Millisecond)
	}
	n, _, errno := syscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.fd), events, most, uintptr(ms), 0, 0)
	return int(n), errno
}

func (p *epoll) tell(r *readiness, n int, rescue bool) {
	for i := range p.events[:n] {
		ev := &p.events[i]
		switch int(ev.Fd) {
		case p.waker.fd:
			if !rescue {
				p.waker.drain()
				p.waker.noticed()
			}
			continue
		case p.hold.fd:
			p.hold.armed = false
			continue
		}
		f := r.table.get(int(ev.Fd))
		if f == nil || !f.watched || f.seq != uint32(ev.Pad) {
			continue // closed, and perhaps opened again, since the kernel queued this event
		}
		is := func(mask uint32) bool { return ev.Events&mask != 0 }
		r.edge(int(ev.Fd), f, promise{
			in:     is(unix.EPOLLIN | unix.EPOLLPRI | unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR),
			ended:  is(unix.EPOLLRDHUP | unix.EPOLLHUP),
			urgent: is(unix.EPOLLPRI),
			hung:   is(unix.EPOLLERR),
			out:    is(unix.EPOLLOUT | unix.EPOLLHUP | unix.EPOLLERR),
		})
	}
}
