package reactor

import (
	"net/netip"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/suiro-go/suiro/internal/faults"
)

// A kernel makes the backend's calls on sockets. None of them waits. Tests make them fail here. Any
// may fail with EAGAIN: the caller then makes a request, which reports the present state. A result
// that iocp got from the kernel in advance also has the form of a call. Each returns a portable
// errno. Any goroutine may call send and sendTo.
type kernel struct {
	port   *iocp
	faults *faults.Plan // nil: none
}

func newKernel(cfg *Config, port *iocp) kernel { return kernel{port, cfg.faults} }

// next returns the size, of n, for which the next call is to be made, or the errno that it returns
// without a system call.
func (k kernel) next(call faults.Call, _, n int) (int, syscall.Errno) {
	if k.faults == nil {
		return n, 0
	}
	return k.faults.Next(call, n)
}

func (k kernel) recv(fd int, p []byte) (int, syscall.Errno) {
	most, errno := k.next(faults.Recv, fd, len(p))
	if errno != 0 {
		return 0, errno
	}
	if s := k.port.sockets[fd]; s != nil && s.failed != 0 {
		errno, s.failed = s.failed, 0
		return 0, ofStream(errno)
	}
	return recvNow(fd, p[:most])
}

func recvNow(fd int, p []byte) (int, syscall.Errno) {
	n, errno := wsaRecv(fd, []windows.WSABuf{wsaBuf(p)}, 0, nil)
	return n, ofStream(errno)
}

// ofStream maps an error of a connection. Windows calls a reset an abort if this side noticed it.
// Other systems make no such difference.
func ofStream(errno syscall.Errno) syscall.Errno {
	if errno == syscall.ECONNABORTED {
		return syscall.ECONNRESET
	}
	return errno
}

// maxSend is how many bytes one call sends. Windows takes all bytes of a call, however many, into
// memory that cannot be swapped out, as soon as it has room for one byte.
const maxSend = 256 << 10

func (k kernel) send(fd int, p []byte) (int, syscall.Errno) {
	most, errno := k.next(faults.Send, fd, min(len(p), maxSend))
	if errno != 0 {
		return 0, errno
	}
	return sendNow(fd, p[:most], nil)
}

func sendNow(fd int, first, second []byte) (int, syscall.Errno) {
	n, errno := wsaSend(fd, []windows.WSABuf{wsaBuf(first), wsaBuf(second)})
	return n, ofStream(errno)
}

func (k kernel) accept(fd int) (conn int, _ netip.AddrPort, errno syscall.Errno) {
	if _, errno := k.next(faults.Accept, fd, 1); errno != 0 {
		return -1, netip.AddrPort{}, errno
	}
	if s := k.port.sockets[fd]; s == nil || s.foreign {
		conn, errno = acceptForeign(fd)
	} else {
		conn, errno = k.acceptFrom(s)
	}
	return conn, netip.AddrPort{}, errno
}

func (k kernel) connect(fd int, sa *rawSockaddr) syscall.Errno {
	if _, errno := k.next(faults.Connect, fd, 1); errno != 0 && errno != syscall.EINTR { // EINTR has no meaning here
		return errno
	}
	if errno := setNonblock(fd); errno != 0 {
		return errno
	}
	s, errno := k.port.socket(fd)
	if errno != 0 {
		return errno
	}
	return k.port.startConnect(s, sa)
}

// socketError takes the result of a connect.
func (k kernel) socketError(fd int) syscall.Errno {
	if _, errno := k.next(faults.SocketError, fd, 1); errno != 0 {
		return errno
	}
	if s := k.port.sockets[fd]; s != nil && s.outcome != 0 {
		errno := s.outcome
		s.outcome = 0
		return errno
	}
	var v uint32
	size := int32(unsafe.Sizeof(v))
	const soError = 0x1007
	if err := windows.Getsockopt(windows.Handle(fd), windows.SOL_SOCKET, soError, (*byte)(unsafe.Pointer(&v)), &size); err != nil {
		return errnoOf(err)
	}
	return Errno(syscall.Errno(v))
}

// readyNow returns false and is not used: iocp reports states, not edges.
func readyNow(fd int, out bool) bool { return false }

// Ready returns false: a Rewatch asks.
func Ready(int, bool) bool { return false }

// hungUp returns false: afd reports at once a hang-up that occurred before.
func hungUp(int) bool { return false }

// connected reports whether the socket has a peer.
func connected(fd int) bool {
	_, err := windows.Getpeername(windows.Handle(fd))
	return err == nil
}

// isUnix is called before any other use of a socket, and makes it non-blocking. EBADF: it is no
// socket. Unix sockets carry only bytes on Windows, as other sockets do.
func isUnix(fd int) (bool, syscall.Errno) { return false, setNonblock(fd) }

// backlogged returns 1: there may be a connection.
func backlogged(int) int { return 1 }
