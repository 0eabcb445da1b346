//go:build !kqueue

package reactor

import (
	"net/netip"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// These system calls are made without a notice to the Go scheduler, which would cost more than some
// of them take.

// taken returns the number of bytes that a call has transferred. n is -1 when the call failed.
func taken(n uintptr) int { return max(0, int(n)) }

func sysRead(fd int, p []byte) (int, syscall.Errno) {
	n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	return taken(n), errno
}

// sysRecv is recvfrom, which for a socket costs less than read: some 40 ns of 1,200 for a message
// of 64 B.
func sysRecv(fd int, p []byte) (int, syscall.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), unix.MSG_DONTWAIT, 0, 0)
	if errno == unix.ENOTSOCK {
		return sysRead(fd, p)
	}
	return taken(n), errno
}

func sysSend(fd int, p []byte) (int, syscall.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT, 0, 0)
	return taken(n), errno
}

// sysAccept also returns the peer's address, if it is an IP address.
func sysAccept(fd int) (int, netip.AddrPort, syscall.Errno) {
	var sa unix.RawSockaddrInet6
	size := uint32(unsafe.Sizeof(sa)) // a longer address is cut off
	n, _, errno := unix.RawSyscall6(unix.SYS_ACCEPT4, uintptr(fd), uintptr(unsafe.Pointer(&sa)), uintptr(unsafe.Pointer(&size)),
		unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0, 0)
	if errno != 0 {
		return -1, netip.AddrPort{}, errno
	}
	return int(n), ParseSockaddr(unsafe.Slice((*byte)(unsafe.Pointer(&sa)), min(uintptr(size), unsafe.Sizeof(sa)))), 0
}

// closeNow is for a descriptor whose close does not wait. A notice to the Go scheduler for these
// few microseconds would make sysmon find the worker's processor in a system call, take it away,
// and look again every 20 µs for a while.
func closeNow(fd int) { _, _, _ = unix.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0) }

// backlogged returns the number of connections in a listener's backlog. Only TCP reports it. For
// other listeners it returns 1: there may be one.
func backlogged(fd int) int {
	var info struct {
		_     [24]byte
		count uint32 // tcpi_unacked, which is the backlog for a listener
	}
	size := uint32(unsafe.Sizeof(info))
	_, _, errno := unix.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.IPPROTO_TCP, unix.TCP_INFO,
		uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 {
		return 1
	}
	return int(info.count)
}

func sysRecvmmsg(fd int, msgs []mmsghdr) (int, syscall.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_RECVMMSG, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(msgs))), uintptr(len(msgs)), unix.MSG_DONTWAIT, 0, 0)
	return int(n), errno
}

func sysSendmmsg(fd int, msgs []mmsghdr) (int, syscall.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDMMSG, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(msgs))), uintptr(len(msgs)), unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT, 0, 0)
	return int(n), errno
}

// sysRecvFrom also returns the sender, if from is not nil.
func sysRecvFrom(fd int, p []byte, from *Sockaddr) (int, syscall.Errno) {
	var name, size unsafe.Pointer
	if from != nil {
		from.raw.len = uint32(unsafe.Sizeof(from.raw.buf))
		name, size = unsafe.Pointer(&from.raw.buf), unsafe.Pointer(&from.raw.len)
	}
	n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), unix.MSG_DONTWAIT,
		uintptr(name), uintptr(size))
	return taken(n), errno
}

func sysSendTo(fd int, p []byte, to *Sockaddr) syscall.Errno {
	var name unsafe.Pointer
	var size uint32
	if to != nil {
		name, size = unsafe.Pointer(&to.raw.buf), to.raw.len
	}
	_, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)),
		unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT, uintptr(name), uintptr(size))
	return errno
}

// sysSend2 sends first and then second.
func sysSend2(fd int, first, second []byte) (int, syscall.Errno) {
	var iov [2]unix.Iovec
	iov[0].Base, iov[1].Base = unsafe.SliceData(first), unsafe.SliceData(second)
	iov[0].SetLen(len(first))
	iov[1].SetLen(len(second))
	msg := unix.Msghdr{Iov: &iov[0]}
	msg.SetIovlen(len(iov))
	n, _, errno := unix.RawSyscall(unix.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(&msg)), unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
	return taken(n), errno
}

func sysConnect(fd int, sa *rawSockaddr) syscall.Errno {
	_, _, errno := unix.RawSyscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&sa.buf)), uintptr(sa.len))
	return errno
}

func writeOne(fd int) syscall.Errno {
	one := [8]byte{1}
	_, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&one)), 8)
	return errno
}

// pollNonblock reports whether the descriptor is ready for an event in mask, or has an error or
// hung up. If the query fails it returns true: the caller's system call will show the state.
func pollNonblock(fd int, mask int16) bool {
	p := unix.PollFd{Fd: int32(fd), Events: mask}
	var none kernelTimespec // zero in both layouts that 32-bit systems have
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&p)), 1, uintptr(unsafe.Pointer(&none)), 0, 0, 0)
		if errno != unix.EINTR {
			return n > 0 || errno != 0
		}
	}
}

// isUnix reports whether the descriptor is a Unix socket, or returns the error of the call.
func isUnix(fd int) (bool, syscall.Errno) {
	var domain int32
	size := uint32(4)
	_, _, errno := unix.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_DOMAIN,
		uintptr(unsafe.Pointer(&domain)), uintptr(unsafe.Pointer(&size)), 0)
	return errno == 0 && domain == unix.AF_UNIX, errno
}
