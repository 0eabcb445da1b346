package reactor

import (
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// These calls return the portable errno, and allocate nothing. The calls of package windows
// allocate for every error.
var (
	ws2_32   = windows.NewLazySystemDLL("ws2_32.dll")
	mswsock  = windows.NewLazySystemDLL("mswsock.dll")
	kernel32 = windows.NewLazySystemDLL("kernel32.dll")

	procWSARecv     = ws2_32.NewProc("WSARecv")
	procWSASend     = ws2_32.NewProc("WSASend")
	procWSASendTo   = ws2_32.NewProc("WSASendTo")
	procWSARecvFrom = ws2_32.NewProc("WSARecvFrom")
	procAccept      = ws2_32.NewProc("accept")
	procConnect     = ws2_32.NewProc("connect")
	procBind        = ws2_32.NewProc("bind")
	procIoctlsocket = ws2_32.NewProc("ioctlsocket")
	procAcceptEx    = mswsock.NewProc("AcceptEx")

	procGetQueuedCompletionStatusEx = kernel32.NewProc("GetQueuedCompletionStatusEx")
)

// Functions of the provider, whose addresses must be queried.
var (
	connectEx  = sync.OnceValues(func() (uintptr, error) { return extension(windows.SOCK_STREAM, &windows.WSAID_CONNECTEX) })
	wsaRecvMsg = sync.OnceValues(func() (uintptr, error) { return extension(windows.SOCK_DGRAM, &windows.WSAID_WSARECVMSG) })
)

func extension(typ int32, id *windows.GUID) (at uintptr, err error) {
	fd, err := windows.WSASocket(windows.AF_INET, typ, 0, nil, 0, windows.WSA_FLAG_OVERLAPPED|windows.WSA_FLAG_NO_HANDLE_INHERIT)
	if err != nil {
		return 0, err
	}
	defer windows.Closesocket(fd)
	var n uint32
	err = windows.WSAIoctl(fd, windows.SIO_GET_EXTENSION_FUNCTION_POINTER, (*byte)(unsafe.Pointer(id)), uint32(unsafe.Sizeof(*id)),
		(*byte)(unsafe.Pointer(&at)), uint32(unsafe.Sizeof(at)), &n, nil, 0)
	return at, err
}

// winsock returns the error of a call: r is 0, or -1 with an error in errno.
func winsock(r uintptr, errno syscall.Errno) syscall.Errno {
	if int32(r) == 0 {
		return 0
	}
	return Errno(errno)
}

// wsaRecv and wsaSend do not wait if ov is nil. Otherwise EINPROGRESS means that the operation is
// pending.
func wsaRecv(fd int, bufs []windows.WSABuf, flags uint32, ov *windows.Overlapped) (int, syscall.Errno) {
	var n uint32
	r, _, errno := syscall.SyscallN(procWSARecv.Addr(), uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(bufs))), uintptr(len(bufs)),
		uintptr(unsafe.Pointer(&n)), uintptr(unsafe.Pointer(&flags)), uintptr(unsafe.Pointer(ov)), 0)
	return int(n), pending(winsock(r, errno))
}

func wsaSend(fd int, bufs []windows.WSABuf) (int, syscall.Errno) {
	var n uint32
	r, _, errno := syscall.SyscallN(procWSASend.Addr(), uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(bufs))), uintptr(len(bufs)),
		uintptr(unsafe.Pointer(&n)), 0, 0, 0)
	return int(n), winsock(r, errno)
}

// pending returns EINPROGRESS for an operation that goes on.
func pending(errno syscall.Errno) syscall.Errno {
	if errno == windows.ERROR_IO_PENDING {
		return syscall.EINPROGRESS
	}
	return errno
}

func wsaBuf(p []byte) windows.WSABuf {
	return windows.WSABuf{Len: uint32(len(p)), Buf: unsafe.SliceData(p)}
}

// setNonblock makes calls that are not overlapped return instead of waiting. EBADF: it is no
// socket.
func setNonblock(fd int) syscall.Errno {
	const fionbio = 0x8004667e
	on := uint32(1)
	r, _, errno := syscall.SyscallN(procIoctlsocket.Addr(), uintptr(fd), fionbio, uintptr(unsafe.Pointer(&on)))
	return winsock(r, errno)
}

// inherit gives a socket the properties of the listener that accepted it, or of the request that
// connected it. Before that, shutdown and the addresses of both ends do not work.
func inherit(fd int, option int32, from []byte) syscall.Errno {
	var errno syscall.Errno
	if err := windows.Setsockopt(windows.Handle(fd), windows.SOL_SOCKET, option, unsafe.SliceData(from), int32(len(from))); err != nil {
		errno, _ = err.(syscall.Errno)
		return Errno(errno)
	}
	return 0
}

func closeNow(fd int) { closeFD(fd) }

// closeFD closes a socket.
func closeFD(fd int) { _ = windows.Closesocket(windows.Handle(fd)) }
