package load

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sources is how many addresses connections come from: each has some 28,000 ports, which stay taken
// for a while after a connection.
const sources = 64

// connect makes a connection, non-blocking. n chooses where it comes from. On the loopback a
// connect ends at once, unless the server's backlog is full: then it waits. prepare sets options
// before.
func connect(to netip.AddrPort, n int, prepare ...func(fd int) error) (fd int, err error) {
	if !to.Addr().Is4() {
		return -1, fmt.Errorf("load: the server's address is %v; use one of IPv4", to)
	}
	fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	defer func() {
		if err != nil {
			_ = unix.Close(fd)
			fd = -1
		}
	}()
	// The port is chosen by connect, so that it need only be free towards this server.
	if err = unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1); err != nil {
		return fd, os.NewSyscallError("setsockopt", err)
	}
	if err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, byte(2 + n%sources)}}); err != nil {
		return fd, os.NewSyscallError("bind", err)
	}
	if err = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		return fd, os.NewSyscallError("setsockopt", err)
	}
	for _, f := range prepare {
		if err = f(fd); err != nil {
			return fd, err
		}
	}
	if err = unix.Connect(fd, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}); err != nil {
		return fd, os.NewSyscallError("connect", err)
	}
	return fd, os.NewSyscallError("fcntl", unix.SetNonblock(fd, true))
}

// The calls below keep Go's processor: there is nothing else to run.

// read returns 0 and no error when there is nothing to read.
func read(fd int, p []byte) (int, error) {
	for {
		n, _, errno := syscall.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
		switch {
		case errno == unix.EINTR:
		case errno == unix.EAGAIN:
			return 0, nil
		case errno != 0:
			return 0, os.NewSyscallError("read", errno)
		case n == 0:
			return 0, errEnded
		default:
			return int(n), nil
		}
	}
}

var errEnded = errors.New("the server has ended the connection")

// write returns 0 and no error when there is no room.
func write(fd int, p []byte) (int, error) {
	for {
		n, _, errno := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)),
			unix.MSG_NOSIGNAL, 0, 0)
		switch errno {
		case unix.EINTR:
		case unix.EAGAIN:
			return 0, nil
		case 0:
			return int(n), nil
		default:
			return 0, os.NewSyscallError("send", errno)
		}
	}
}

// A poller is an epoll, edge-triggered.
type poller struct {
	fd     int
	events [256]unix.EpollEvent
}

func newPoller() (*poller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	return &poller{fd: fd}, os.NewSyscallError("epoll_create1", err)
}

func (p *poller) close() { _ = unix.Close(p.fd) }

// After add, wait returns i when there is something to do on fd.
func (p *poller) add(fd, i int) error {
	ev := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET, Fd: int32(i)}
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(p.fd, unix.EPOLL_CTL_ADD, fd, &ev))
}

// wait returns when there is something to do, or that time is over.
func (p *poller) wait(d time.Duration) ([]unix.EpollEvent, error) {
	const epollPwait2 = 441 // on every architecture; Linux 5.11. It takes nanoseconds
	ts := [2]int64{int64(d / time.Second), int64(d % time.Second)}
	n, _, errno := syscall.RawSyscall6(epollPwait2, uintptr(p.fd), uintptr(unsafe.Pointer(&p.events[0])), uintptr(len(p.events)),
		uintptr(unsafe.Pointer(&ts)), 0, 0)
	if errno != 0 && errno != unix.EINTR {
		return nil, os.NewSyscallError("epoll_pwait2", errno)
	}
	if errno != 0 {
		n = 0
	}
	return p.events[:n], nil
}
