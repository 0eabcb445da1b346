package reactor

import (
	"encoding/binary"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// accepts is how many accepts of a listener are in flight.
const accepts = 8

// awaitAccept starts accepts. It returns true if there is a connection or an error already.
func (s *iocp) awaitAccept(k *socket) bool {
	live := 0
	for _, q := range k.accepts {
		if !q.stopped {
			live++
		}
	}
	for len(k.backlog) == 0 && k.refused == 0 && live < accepts {
		if s.launchAccept(k) {
			live++
		}
	}
	return len(k.backlog) > 0 || k.refused != 0
}

// launchAccept begins one accept. It returns false if the accept has ended at once; the result has
// been processed then.
func (s *iocp) launchAccept(k *socket) (flies bool) {
	conn, err := windows.WSASocket(k.family, windows.SOCK_STREAM, 0, nil, 0, windows.WSA_FLAG_OVERLAPPED|windows.WSA_FLAG_NO_HANDLE_INHERIT)
	if err != nil {
		k.refused = errnoOf(err)
		return false
	}
	q := &acceptRequest{request: request{sock: k, kind: forAccept}, conn: int(conn)}
	var n uint32
	r, _, errno := syscall.SyscallN(procAcceptEx.Addr(), uintptr(k.fd), uintptr(conn), uintptr(unsafe.Pointer(&q.names)), 0, nameSpace, nameSpace,
		uintptr(unsafe.Pointer(&n)), uintptr(unsafe.Pointer(&q.ov)))
	if r == 0 && errno != windows.ERROR_IO_PENDING || r != 0 && k.skips {
		if r != 0 {
			errno = 0
		}
		k.keep(q, Errno(errno))
		return false
	}
	k.accepts = append(k.accepts, q)
	s.takesOff(&q.request)
	return true
}

// accepted processes a completed accept, and reports whether there is a result for an Accept.
func (k *socket) accepted(q *acceptRequest, errno syscall.Errno) bool {
	for i, other := range k.accepts {
		if other == q {
			k.accepts = append(k.accepts[:i], k.accepts[i+1:]...)
			break
		}
	}
	return k.keep(q, errno)
}

func (k *socket) keep(q *acceptRequest, errno syscall.Errno) bool {
	if errno == 0 {
		var listener [8]byte
		binary.NativeEndian.PutUint64(listener[:], uint64(k.fd))
		errno = inherit(q.conn, windows.SO_UPDATE_ACCEPT_CONTEXT, listener[:unsafe.Sizeof(uintptr(0))])
	}
	if errno == 0 {
		errno = setNonblock(q.conn)
	}
	if errno == 0 {
		k.backlog = append(k.backlog, q.conn)
		return true
	}
	closeFD(q.conn)
	switch errno {
	case syscall.ECONNRESET, syscall.ECONNABORTED, syscall.ENOTCONN, syscall.ETIMEDOUT: // the peer gave up in the backlog: not reported
		return false
	case syscall.ECANCELED: // canceled by this reactor; otherwise for an unknown reason, and tried again
		return false
	}
	k.refused = errno
	return true
}

// stopAccepting leaves connections that arrive from now on in the kernel's backlog.
func (k *socket) stopAccepting(s *iocp) {
	for _, q := range k.accepts {
		if !q.stopped {
			q.stopped = true
			s.cancel(&q.request)
		}
	}
}

// acceptFrom has the form of a system call for the backend. It returns a connection that was
// accepted before.
func (k kernel) acceptFrom(l *socket) (int, syscall.Errno) {
	if len(l.backlog) == 0 && l.refused == 0 {
		k.port.awaitAccept(l)
	}
	if len(l.backlog) > 0 {
		conn := l.backlog[0]
		l.backlog = l.backlog[1:]
		return conn, 0
	}
	errno := l.refused
	l.refused = 0
	if errno == 0 {
		errno = syscall.EAGAIN
	}
	return -1, errno
}

// acceptForeign makes the system call, on a listener that belongs to another completion port.
// Requests at that port may take the connection first, as may another process on any listener.
func acceptForeign(fd int) (int, syscall.Errno) {
	r, _, errno := syscall.SyscallN(procAccept.Addr(), uintptr(fd), 0, 0)
	conn := int(r)
	if windows.Handle(r) == windows.InvalidHandle {
		if errno = Errno(errno); errno == syscall.ECONNRESET {
			errno = syscall.ECONNABORTED // the peer gave up in the backlog
		}
		return -1, errno
	}
	_ = windows.SetHandleInformation(windows.Handle(r), windows.HANDLE_FLAG_INHERIT, 0)
	if errno := setNonblock(conn); errno != 0 {
		closeFD(conn)
		return -1, errno
	}
	return conn, 0
}
