package reactor

import (
	"syscall"

	"github.com/suiro-go/suiro/internal/faults"
	"github.com/suiro-go/suiro/internal/iosync"
)

// TrySend sends as much as the socket takes at once of first and then second, either of which may be empty, and
// returns how many bytes that were; EAGAIN if none. It is for large sends from memory that cannot be kept for an
// operation, and must come when none that sends is in flight on the socket. Any goroutine.
func (cfg *Config) TrySend(fd int, first, second []byte) (int, syscall.Errno) {
	iosync.BeforeSend()
	most, errno := kernel{faults: cfg.Faults}.next(faults.Send, fd, min(maxSend, len(first)+len(second)))
	if errno != 0 {
		return 0, errno
	}
	k := min(most, len(first))
	return sendNow(fd, first[:k], second[:most-k])
}

// TryRecv reads what there is from a socket and returns how many bytes that were: 0 at the end, EAGAIN if
// there is nothing. It must come when nothing that receives is in flight on the socket. Any goroutine.
func (cfg *Config) TryRecv(fd int, p []byte) (int, syscall.Errno) {
	most, errno := kernel{faults: cfg.Faults}.next(faults.Recv, fd, len(p))
	if errno != 0 {
		return 0, errno
	}
	n, errno := recvNow(fd, p[:most])
	iosync.AfterReceive()
	return n, errno
}
