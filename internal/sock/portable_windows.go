package sock

import (
	"errors"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/windows"

	"github.com/suiro-go/suiro/reactor"
)

// Reactors and the rest of this package know portable numbers alone. Users are given
// both: Windows' own is what package net has, its text says more, and errors.As finds it.

// A twinned error has a number of Windows', or wraps one, and matches the portable one too.
type twinned struct {
	error
	portable syscall.Errno
}

func (e *twinned) Unwrap() error { return e.error }

func (e *twinned) Is(target error) bool { return target == e.portable || e.portable.Is(target) }

// Timeout and Temporary are for net.OpError, which looks no deeper.
func (e *twinned) Timeout() bool {
	var t net.Error
	return e.portable == syscall.ETIMEDOUT || errors.As(e.error, &t) && t.Timeout()
}

func (e *twinned) Temporary() bool { return e.portable.Temporary() }

// Portable keeps the types that package net's errors have.
func Portable(err error) error {
	switch e := err.(type) {
	case nil, *twinned:
		return err
	case *net.OpError:
		op := *e
		op.Err = Portable(e.Err)
		return &op
	case *os.SyscallError:
		return &os.SyscallError{Syscall: e.Syscall, Err: Portable(e.Err)}
	case syscall.Errno:
		return twin(e)
	}
	var known *twinned
	var errno syscall.Errno
	if !errors.As(err, &known) && errors.As(err, &errno) {
		if t, ok := twin(errno).(*twinned); ok {
			return &twinned{err, t.portable}
		}
	}
	return err
}

// twin returns an error that matches both numbers of a pair to which errno belongs, or errno itself
// if there is no pair.
func twin(errno syscall.Errno) error {
	if errno >= syscall.APPLICATION_ERROR { // an invented one
		if native, ok := natives[errno]; ok {
			return &twinned{native, errno}
		}
	} else if p := reactor.Errno(errno); p != errno {
		return &twinned{errno, p}
	}
	return errno
}

// natives are Windows' numbers for the portable numbers in errors that users get.
var natives = map[syscall.Errno]syscall.Errno{
	syscall.EACCES:        windows.WSAEACCES,
	syscall.EADDRINUSE:    windows.WSAEADDRINUSE,
	syscall.EADDRNOTAVAIL: windows.WSAEADDRNOTAVAIL,
	syscall.EAFNOSUPPORT:  windows.WSAEAFNOSUPPORT,
	syscall.ECONNABORTED:  windows.WSAECONNABORTED,
	syscall.ECONNREFUSED:  windows.WSAECONNREFUSED,
	syscall.ECONNRESET:    windows.WSAECONNRESET,
	syscall.EDESTADDRREQ:  windows.WSAEDESTADDRREQ,
	syscall.EHOSTDOWN:     windows.WSAEHOSTDOWN,
	syscall.EHOSTUNREACH:  windows.WSAEHOSTUNREACH,
	syscall.EINVAL:        windows.WSAEINVAL,
	syscall.EISCONN:       windows.WSAEISCONN,
	syscall.EMFILE:        windows.WSAEMFILE,
	syscall.EMSGSIZE:      windows.WSAEMSGSIZE,
	syscall.ENETDOWN:      windows.WSAENETDOWN,
	syscall.ENETRESET:     windows.WSAENETRESET,
	syscall.ENETUNREACH:   windows.WSAENETUNREACH,
	syscall.ENOBUFS:       windows.WSAENOBUFS,
	syscall.ENOPROTOOPT:   windows.WSAENOPROTOOPT,
	syscall.ENOTCONN:      windows.WSAENOTCONN,
	syscall.ENOTSOCK:      windows.WSAENOTSOCK,
	syscall.EOPNOTSUPP:    windows.WSAEOPNOTSUPP,
	syscall.EPIPE:         windows.WSAESHUTDOWN,
	syscall.ETIMEDOUT:     windows.WSAETIMEDOUT,
}
