package main

import (
	"bytes"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

// connect opens all connections and exchanges one message on each, so that the server has accepted them
// before the clock starts.
func (l *load) connect() error {
	to, err := netip.ParseAddrPort(l.addr)
	if err != nil {
		return err
	}
	if l.epoll, err = syscall.EpollCreate1(syscall.EPOLL_CLOEXEC); err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	for i := range l.slow + l.others {
		s, err := dial(to)
		if err == nil {
			err = s.greet(byte('a' + i%26))
		}
		if err == nil {
			err = syscall.SetNonblock(s.fd, true)
		}
		if err == nil {
			ev := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(i)}
			err = os.NewSyscallError("epoll_ctl", syscall.EpollCtl(l.epoll, syscall.EPOLL_CTL_ADD, s.fd, &ev))
		}
		if err != nil {
			return fmt.Errorf("connection %d: %w", i, err)
		}
		if i < l.slow {
			s.message = bytes.Repeat([]byte{burnByte}, messageSize)
		}
		l.sockets = append(l.sockets, s)
	}
	return nil
}

func dial(to netip.AddrPort) (s socket, err error) {
	s.fd, err = syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return s, os.NewSyscallError("socket", err)
	}
	if err := syscall.SetsockoptInt(s.fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1); err != nil {
		return s, os.NewSyscallError("setsockopt", err)
	}
	sa := &syscall.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}
	return s, os.NewSyscallError("connect", syscall.Connect(s.fd, sa))
}

// greet sends a message of that byte and waits for the echo.
func (s *socket) greet(c byte) error {
	s.message = bytes.Repeat([]byte{c}, messageSize)
	patience := syscall.Timeval{Sec: 5}
	if err := syscall.SetsockoptTimeval(s.fd, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &patience); err != nil {
		return os.NewSyscallError("setsockopt", err)
	}
	if err := s.send(); err != nil {
		return err
	}
	echo := make([]byte, messageSize)
	for n := 0; n < messageSize; {
		m, err := syscall.Read(s.fd, echo[n:])
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return os.NewSyscallError("read", err)
		}
		if m == 0 {
			return io.ErrUnexpectedEOF
		}
		n += m
	}
	if !bytes.Equal(echo, s.message) {
		return fmt.Errorf("%q came back for %q", echo, s.message)
	}
	return nil
}

// send sends the connection's message. The socket's buffer has room for far more than a run sends: none is an
// error.
func (s *socket) send() error {
	for {
		n, _, errno := syscall.RawSyscall(syscall.SYS_WRITE, uintptr(s.fd), uintptr(unsafe.Pointer(&s.message[0])), messageSize)
		switch {
		case errno == syscall.EINTR:
		case errno != 0:
			return os.NewSyscallError("write", errno)
		case n != messageSize:
			return io.ErrShortWrite
		default:
			return nil
		}
	}
}

func read(fd int, p []byte) (int, error) {
	for {
		n, _, errno := syscall.RawSyscall(syscall.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)))
		if errno == 0 {
			return int(n), nil
		}
		if errno != syscall.EINTR {
			return 0, errno
		}
	}
}

// epollWait waits with the precision of nanoseconds, and keeps Go's processor: there is nothing else to run.
func epollWait(epoll int, events []syscall.EpollEvent, wait time.Duration) (int, error) {
	const epollPwait2 = 441 // on every architecture; Linux 5.11
	ts := [2]int64{int64(wait / time.Second), int64(wait % time.Second)}
	n, _, errno := syscall.RawSyscall6(epollPwait2, uintptr(epoll), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)),
		uintptr(unsafe.Pointer(&ts)), 0, 0)
	switch errno {
	case 0:
		return int(n), nil
	case syscall.EINTR:
		return 0, nil
	}
	return 0, os.NewSyscallError("epoll_pwait2", errno)
}

// raisePriority lets the client run as soon as it is woken, whatever the servers do, and returns what it got.
// It is done for all threads: Go may move the goroutine to another.
func raisePriority(how string) (string, error) {
	set := map[string]func(tid int) error{"fifo": setFIFO, "nice": setNice}
	switch how {
	case "none":
		return how, nil
	case "auto":
		for _, how := range []string{"fifo", "nice"} {
			if forThreads(set[how]) == nil {
				return how, nil
			}
		}
		return "none", nil
	}
	f, ok := set[how]
	if !ok {
		return "", fmt.Errorf("-priority %q: want auto, fifo, nice or none", how)
	}
	return how, forThreads(f)
}

// forThreads does it for each thread there is; later ones inherit from these.
func forThreads(f func(tid int) error) error {
	dir, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, d := range dir {
		tid, err := strconv.Atoi(d.Name())
		if err == nil {
			err = f(tid)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func setFIFO(tid int) error {
	const schedFIFO = 1
	priority := int32(1)
	_, _, errno := syscall.Syscall(syscall.SYS_SCHED_SETSCHEDULER, uintptr(tid), schedFIFO, uintptr(unsafe.Pointer(&priority)))
	if errno != 0 {
		return os.NewSyscallError("sched_setscheduler", errno)
	}
	return nil
}

func setNice(tid int) error {
	return os.NewSyscallError("setpriority", syscall.Setpriority(syscall.PRIO_PROCESS, tid, -10))
}
