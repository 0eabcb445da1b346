package reactor

import (
	"net/netip"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/suiro-go/suiro/internal/faults"
)

// A kernel makes the backend's calls on sockets, none of which waits, and is where tests have
// them fail: any of them may, since whoever hears EAGAIN asks for news, and is told of what
// is there already. What iocp has had from the kernel in advance comes as a call's outcome,
// too. Each returns a portable errno. send, and sendTo, are called by any goroutine.
type kernel struct {
	port   *iocp
	faults *faults.Plan // nil: none
}

func newKernel(cfg *Config, port *iocp) kernel { return kernel{port, cfg.Faults} }

// next is what the coming call is to be made for, of n, or the errno it is to
// return without being made.
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

// ofStream is an error of a connection. That Windows calls a reset an abort when it was
// noticed by this side is nothing that others do.
func ofStream(errno syscall.Errno) syscall.Errno {
	if errno == syscall.ECONNABORTED {
		return syscall.ECONNRESET
	}
	return errno
}

// maxSend is what one call sends. Windows takes all of what it is given, however long, into memory that
// cannot be swapped out, as soon as it has room for a byte.
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
	if _, errno := k.next(faults.Connect, fd, 1); errno != 0 && errno != syscall.EINTR { // which means nothing here
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

// socketError takes what came of a connect.
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

// readyNow is not asked: iocp's news does not tell of edges, but of what is so.
func readyNow(fd int, out bool) bool { return false }

// hungUp says no: afd tells at once if it is so already.
func hungUp(int) bool { return false }

// connected reports whether the socket has a peer.
func connected(fd int) bool {
	_, err := windows.Getpeername(windows.Handle(fd))
	return err == nil
}

// isUnix comes before anything else that is done with a socket, and has it not wait. EBADF
// if it is none. Unix sockets here carry only bytes, as others do.
func isUnix(fd int) (bool, syscall.Errno) { return false, setNonblock(fd) }

// backlogged says that somebody may wait.
func backlogged(int) int { return 1 }
