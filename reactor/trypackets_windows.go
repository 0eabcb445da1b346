package reactor

import (
	"net/netip"
	"syscall"
	"unsafe"

	"github.com/suiro-go/suiro/internal/faults"
	"github.com/suiro-go/suiro/internal/iosync"
)

// PrepareTry makes a socket non-blocking.
func PrepareTry(fd int) syscall.Errno { return setNonblock(fd) }

// TryRecvFrom receives one datagram into p and returns its length, which is at most len(p): the
// rest of a longer one is lost. from, unless it is nil, is set to the sender. The error is EAGAIN
// if there is no datagram.
func (c Calls) TryRecvFrom(fd int, p []byte, from *Sockaddr) (int, syscall.Errno) {
	if _, errno := (kernel{faults: c.faults}).next(faults.RecvFrom, fd, 1); errno != 0 {
		return 0, errno
	}
	var sa Sockaddr
	if from == nil {
		from = &sa
	}
	for {
		buf, n, flags := wsaBuf(p), uint32(0), uint32(0)
		from.raw.len = uint32(unsafe.Sizeof(from.raw.buf))
		r, _, errno := syscall.SyscallN(procWSARecvFrom.Addr(), uintptr(fd), uintptr(unsafe.Pointer(&buf)), 1, uintptr(unsafe.Pointer(&n)),
			uintptr(unsafe.Pointer(&flags)), uintptr(unsafe.Pointer(&from.raw.buf)), uintptr(unsafe.Pointer(&from.raw.len)), 0, 0)
		switch errno := winsock(r, errno); errno {
		case 0:
			iosync.AfterReceive()
			return int(n), 0
		case syscall.EMSGSIZE: // the datagram was longer
			return len(p), 0
		case syscall.ECONNRESET, syscall.ENETRESET:
			// A datagram that this socket sent had no receiver. Other systems report that only on a
			// connected socket.
			if connected(fd) {
				if errno == syscall.ECONNRESET {
					errno = syscall.ECONNREFUSED
				}
				return 0, errno
			}
		default:
			return 0, errno
		}
	}
}

// TrySendTo sends one datagram. A nil to is the peer of a connected socket. The error is EAGAIN if
// the socket has no room.
func (c Calls) TrySendTo(fd int, p []byte, to *Sockaddr) syscall.Errno {
	iosync.BeforeSend()
	k := kernel{faults: c.faults}
	if to == nil {
		return k.sendTo(fd, p, nil, 0)
	}
	return k.sendTo(fd, p, (*syscall.RawSockaddrInet6)(unsafe.Pointer(&to.raw.buf)), to.raw.len)
}

// TrySendFrom is TrySendTo: the system chooses the source.
func (c Calls) TrySendFrom(fd int, p []byte, _ netip.Addr, to netip.AddrPort, wide bool) syscall.Errno {
	var sa Sockaddr
	if errno := sa.SetAddrPort(to, wide); errno != 0 {
		return errno
	}
	return c.TrySendTo(fd, p, &sa)
}
