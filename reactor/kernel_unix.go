//go:build unix

package reactor

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/faults"
)

// A kernel makes a backend's system calls on sockets. Tests make them fail here (see injector). The
// calls of each platform are in syscall_*.go.
//
// All of these calls are made on non-blocking descriptors and return within microseconds. Each
// returns the errno, and each is tried again on EINTR.
type kernel struct{ faults *injector } // nil: none

// next returns the size, of n, for which the next call is to be made, or the errno that it returns
// without a system call.
func (k kernel) next(call faults.Call, fd, n int) (int, syscall.Errno) {
	if k.faults == nil {
		return n, 0
	}
	return k.faults.next(call, fd, n)
}

func (k kernel) recv(fd int, p []byte) (int, syscall.Errno) {
	for {
		n, errno := k.next(faults.Recv, fd, len(p))
		if errno == 0 {
			n, errno = sysRecv(fd, p[:n])
		}
		if errno != unix.EINTR {
			return n, errno
		}
	}
}

// read is for descriptors that are not sockets.
func (k kernel) read(call faults.Call, fd int, p []byte) (int, syscall.Errno) {
	for {
		n, errno := k.next(call, fd, len(p))
		if errno == 0 {
			n, errno = sysRead(fd, p[:n])
		}
		if errno != unix.EINTR {
			return n, errno
		}
	}
}

func (k kernel) send(fd int, p []byte) (int, syscall.Errno) {
	for {
		n, errno := k.next(faults.Send, fd, len(p))
		if errno == 0 {
			n, errno = sysSend(fd, p[:n])
		}
		if errno != unix.EINTR {
			return n, errno
		}
	}
}

// accept also returns the peer's address, if sysAccept has got it.
func (k kernel) accept(fd int) (conn int, peer netip.AddrPort, errno syscall.Errno) {
	for {
		if _, errno = k.next(faults.Accept, fd, 1); errno == 0 {
			conn, peer, errno = sysAccept(fd)
		}
		if errno != unix.EINTR {
			return conn, peer, errno
		}
	}
}

// recvmmsg may return an error besides the messages that arrived before it.
func (k kernel) recvmmsg(fd int, msgs []mmsghdr) (int, syscall.Errno) {
	for {
		n, errno := k.next(faults.RecvFrom, fd, len(msgs))
		if errno == 0 {
			n, errno = sysRecvmmsg(fd, msgs[:n])
		}
		if errno != unix.EINTR {
			return n, errno
		}
	}
}

func (k kernel) sendmmsg(fd int, msgs []mmsghdr) (int, syscall.Errno) {
	for {
		n, errno := k.next(faults.SendTo, fd, len(msgs))
		if errno == 0 {
			n, errno = sysSendmmsg(fd, msgs[:n])
		}
		if errno != unix.EINTR {
			return n, errno
		}
	}
}

// connect is not tried again on EINTR: an interrupted connect goes on.
func (k kernel) connect(fd int, sa *rawSockaddr) syscall.Errno {
	_, fault := k.next(faults.Connect, fd, 1)
	if fault != 0 && fault != unix.EINTR {
		return fault
	}
	errno := sysConnect(fd, sa)
	if fault == unix.EINTR && (errno == 0 || errno == unix.EINPROGRESS) {
		return unix.EINTR
	}
	return errno
}

// socketError takes the pending error of a socket.
func (k kernel) socketError(fd int) syscall.Errno {
	if _, errno := k.next(faults.SocketError, fd, 1); errno != 0 {
		return errno
	}
	v, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil {
		return errnoOf(err)
	}
	return syscall.Errno(v)
}

// connected reports whether the socket has a peer.
func connected(fd int) bool {
	_, err := unix.Getpeername(fd)
	return err == nil
}

// errnoOf returns the errno of an error of package unix, or 0.
func errnoOf(err error) syscall.Errno {
	errno, _ := err.(syscall.Errno)
	return errno
}

// readyNow reports whether the descriptor is ready: for output if out is set, else for input. An
// error or a hang-up also counts.
func readyNow(fd int, out bool) bool {
	if out {
		return pollNonblock(fd, unix.POLLOUT)
	}
	return pollNonblock(fd, unix.POLLIN)
}

// Ready reports whether a receive, or with out a send, would not wait now. An error alone does not
// count.
func Ready(fd int, out bool) bool {
	events := int16(unix.POLLIN)
	if out {
		events = unix.POLLOUT
	}
	p := [1]unix.PollFd{{Fd: int32(fd), Events: events}}
	for {
		n, err := unix.Poll(p[:], 0)
		if err != unix.EINTR {
			return n > 0 && p[0].Revents&^unix.POLLERR != 0
		}
	}
}

// hungUp reports whether the descriptor has an error that was not reported yet.
func hungUp(fd int) bool {
	p := [1]unix.PollFd{{Fd: int32(fd)}}
	for {
		n, err := unix.Poll(p[:], 0)
		if err != unix.EINTR {
			return n > 0 && p[0].Revents&unix.POLLERR != 0
		}
	}
}

// closeFD closes a descriptor. EINTR means that it is closed as well.
func closeFD(fd int) { _ = unix.Close(fd) }

// explainLimit adds the remedy to an error.
func explainLimit(err error) error {
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		return fmt.Errorf("%w; raise the limit on open files (ulimit -n)", err)
	}
	return err
}
