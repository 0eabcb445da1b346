//go:build unix

package reactor

import (
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/faults"
	"github.com/suiro-go/suiro/internal/iosync"
)

// MaxRights is how many descriptors one message may carry on every system.
const MaxRights = 250

// rightsRoom is the size in bytes of the buffer for received control messages. A peer on Linux may
// send 253 descriptors, which take 1032 bytes. The rest is for the sender's credentials
// (SO_PASSCRED) and security label (SO_PASSSEC).
const rightsRoom = 1536

// TrySendRights sends bytes of a Unix stream, at least one, and descriptors with the first of them.
// It returns how many bytes the socket took. If it took any, the descriptors are sent too. The
// error is EAGAIN if it takes nothing.
func (c Calls) TrySendRights(fd int, p []byte, fds []int) (int, syscall.Errno) {
	iosync.BeforeSend()
	var control []byte
	if len(fds) > 0 {
		control = unix.UnixRights(fds...)
	}
	for {
		n, errno := c.planned(faults.Send, fd, len(p))
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 {
			return 0, errno
		}
		sent, err := unix.SendmsgN(fd, p[:n], control, nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
		if err != unix.EINTR {
			return max(0, sent), errnoOf(err)
		}
	}
}

// TryRecvRights receives bytes of a Unix stream, and the descriptors that came with them, which are
// close-on-exec. lost says that the kernel has dropped some, because the process may open no more.
// No bytes and no error mean the end. The error is EAGAIN if there is nothing.
func (c Calls) TryRecvRights(fd int, p []byte) (n int, fds []int, lost bool, errno syscall.Errno) {
	control := make([]byte, rightsRoom)
	for {
		n, errno := c.planned(faults.Recv, fd, len(p))
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 {
			return 0, nil, false, errno
		}
		n, controlled, flags, err := recvRights(fd, p[:n], control)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return 0, nil, false, errnoOf(err)
		}
		iosync.AfterReceive()
		return n, parseRights(control[:controlled]), flags&unix.MSG_CTRUNC != 0, 0
	}
}

// parseRights returns the descriptors of all control messages.
func parseRights(control []byte) (fds []int) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return nil
	}
	for i := range messages {
		if some, err := unix.ParseUnixRights(&messages[i]); err == nil {
			fds = append(fds, some...)
		}
	}
	return fds
}
