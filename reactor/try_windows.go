package reactor

import (
	"syscall"

	"github.com/suiro-go/suiro/internal/faults"
	"github.com/suiro-go/suiro/internal/iosync"
)

// TrySend sends first and then second, as far as the socket takes bytes at once, and returns the
// number of bytes sent. Either may be empty. The error is EAGAIN if the socket takes nothing. It is
// for large sends from memory that cannot be kept for an operation.
func (c Calls) TrySend(fd int, first, second []byte) (int, syscall.Errno) {
	iosync.BeforeSend()
	most, errno := kernel{faults: c.faults}.next(faults.Send, fd, min(maxSend, len(first)+len(second)))
	if errno != 0 {
		return 0, errno
	}
	k := min(most, len(first))
	return sendNow(fd, first[:k], second[:most-k])
}

// TryRecv reads from a socket, and returns the number of bytes. 0 bytes mean the end. The error is
// EAGAIN if there is nothing.
func (c Calls) TryRecv(fd int, p []byte) (int, syscall.Errno) {
	most, errno := kernel{faults: c.faults}.next(faults.Recv, fd, len(p))
	if errno != 0 {
		return 0, errno
	}
	n, errno := recvNow(fd, p[:most])
	iosync.AfterReceive()
	return n, errno
}
