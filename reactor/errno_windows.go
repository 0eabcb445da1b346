package reactor

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// Errno returns the portable number of a Windows error, such as syscall.ECONNRESET for
// WSAECONNRESET and for ERROR_NETNAME_DELETED. An error without one is returned as it is.
// Completions and failures carry portable numbers.
func Errno(native syscall.Errno) syscall.Errno {
	switch native {
	case windows.WSAEINTR:
		return syscall.EINTR
	case windows.WSAEBADF, windows.WSAENOTSOCK, windows.ERROR_INVALID_HANDLE:
		return syscall.EBADF // "not a socket" nearly always means a closed one here
	case windows.WSAEACCES, windows.ERROR_ACCESS_DENIED:
		return syscall.EACCES
	case windows.WSAEFAULT, windows.ERROR_NOACCESS:
		return syscall.EFAULT
	case windows.WSAEINVAL, windows.ERROR_INVALID_PARAMETER:
		return syscall.EINVAL
	case windows.WSAEMFILE, windows.ERROR_TOO_MANY_OPEN_FILES:
		return syscall.EMFILE
	case windows.WSAEWOULDBLOCK:
		return syscall.EAGAIN
	case windows.WSAEINPROGRESS:
		return syscall.EINPROGRESS
	case windows.WSAEALREADY:
		return syscall.EALREADY
	case windows.WSAEDESTADDRREQ:
		return syscall.EDESTADDRREQ
	case windows.WSAEMSGSIZE, windows.ERROR_MORE_DATA:
		return syscall.EMSGSIZE
	case windows.WSAEPROTONOSUPPORT:
		return syscall.EPROTONOSUPPORT
	case windows.WSAEOPNOTSUPP:
		return syscall.EOPNOTSUPP
	case windows.WSAEAFNOSUPPORT:
		return syscall.EAFNOSUPPORT
	case windows.WSAEADDRINUSE, windows.ERROR_DUP_NAME:
		return syscall.EADDRINUSE
	case windows.WSAEADDRNOTAVAIL:
		return syscall.EADDRNOTAVAIL
	case windows.WSAENETDOWN:
		return syscall.ENETDOWN
	case windows.WSAENETUNREACH, windows.ERROR_NETWORK_UNREACHABLE:
		return syscall.ENETUNREACH
	case windows.WSAENETRESET:
		return syscall.ENETRESET
	case windows.WSAECONNABORTED, windows.ERROR_CONNECTION_ABORTED:
		return syscall.ECONNABORTED
	case windows.WSAECONNRESET, windows.ERROR_NETNAME_DELETED, windows.ERROR_PIPE_NOT_CONNECTED,
		windows.ERROR_UNEXP_NET_ERR: // of an accept whose peer has gone
		return syscall.ECONNRESET
	case windows.WSAENOBUFS, windows.ERROR_NO_SYSTEM_RESOURCES, windows.ERROR_WORKING_SET_QUOTA, windows.ERROR_NOT_ENOUGH_MEMORY:
		return syscall.ENOBUFS
	case windows.WSAEISCONN:
		return syscall.EISCONN
	case windows.WSAENOTCONN:
		return syscall.ENOTCONN
	case windows.WSAESHUTDOWN, windows.ERROR_BROKEN_PIPE, windows.ERROR_GRACEFUL_DISCONNECT:
		return syscall.EPIPE
	case windows.WSAETIMEDOUT, windows.ERROR_SEM_TIMEOUT:
		return syscall.ETIMEDOUT
	case windows.WSAECONNREFUSED, windows.ERROR_CONNECTION_REFUSED, windows.ERROR_PORT_UNREACHABLE:
		return syscall.ECONNREFUSED
	case windows.WSAEHOSTUNREACH, windows.ERROR_HOST_UNREACHABLE:
		return syscall.EHOSTUNREACH
	case windows.WSAEHOSTDOWN:
		return syscall.EHOSTDOWN
	case windows.ERROR_OPERATION_ABORTED:
		return syscall.ECANCELED
	case windows.ERROR_FILE_NOT_FOUND, windows.ERROR_PATH_NOT_FOUND:
		return syscall.ENOENT
	}
	return native
}

// statusErrno returns the portable number of the status of a request, 0 for success.
func statusErrno(status windows.NTStatus) syscall.Errno {
	const severity = 0xC000_0000
	if status&severity != severity {
		return 0
	}
	return Errno(status.Errno())
}
