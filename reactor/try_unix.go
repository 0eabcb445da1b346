//go:build unix

package reactor

import (
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/faults"
	"github.com/suiro-go/suiro/internal/iosync"
)

// TrySend sends first and then second, as far as the socket takes bytes at once, and returns the
// number of bytes sent. Either may be empty. The error is EAGAIN if the socket takes nothing. It is
// for large sends from memory that cannot be kept for an operation.
func (c Calls) TrySend(fd int, first, second []byte) (int, syscall.Errno) {
	iosync.BeforeSend()
	most, errno := c.planned(faults.Send, fd, len(first)+len(second))
	if errno != 0 {
		return 0, errno
	}
	k := min(most, len(first))
	first, second = first[:k], second[:most-k]
	switch {
	case len(first) == 0:
		return kernel{}.send(fd, second)
	case len(second) == 0:
		return kernel{}.send(fd, first)
	}
	for {
		n, errno := sysSend2(fd, first, second)
		if errno != unix.EINTR {
			return n, errno
		}
	}
}

// TryRecv reads from a socket or a pipe, and returns the number of bytes. 0 bytes mean the end. The
// error is EAGAIN if there is nothing.
func (c Calls) TryRecv(fd int, p []byte) (int, syscall.Errno) {
	n, errno := c.planned(faults.Recv, fd, len(p))
	if errno != 0 {
		return 0, errno
	}
	n, errno = kernel{}.recv(fd, p[:n])
	iosync.AfterReceive()
	return n, errno
}

// planned returns the number of bytes, of n, for which a call is made, or the errno that it returns
// without a system call.
func (c Calls) planned(call faults.Call, fd, n int) (int, syscall.Errno) {
	if c.faults == nil {
		return n, 0
	}
	most, errno := c.faults.Next(call, n)
	if errno == unix.EAGAIN || errno == 0 && most < n {
		c.faults.Renew(fd)
	}
	return most, errno
}
