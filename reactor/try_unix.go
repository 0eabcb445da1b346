//go:build unix

package reactor

import (
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/faults"
	"github.com/suiro-go/suiro/internal/iosync"
)

// TrySend sends as much as the socket takes at once of first and then second, either of which may be empty, and
// returns how many bytes that were; EAGAIN if none. It is for large sends from memory that cannot be kept for an
// operation, and must come when none that sends is in flight on the socket. Any goroutine.
func (cfg *Config) TrySend(fd int, first, second []byte) (int, syscall.Errno) {
	iosync.BeforeSend()
	most, errno := cfg.planned(faults.Send, len(first)+len(second))
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

// TryRecv reads what there is from a socket, or a pipe, and returns how many bytes that were: 0 at the end, EAGAIN if
// there is nothing. It must come when nothing that receives is in flight on the socket. Any goroutine.
func (cfg *Config) TryRecv(fd int, p []byte) (int, syscall.Errno) {
	n, errno := cfg.planned(faults.Recv, len(p))
	if errno != 0 {
		return 0, errno
	}
	n, errno = kernel{}.recv(fd, p[:n])
	iosync.AfterReceive()
	return n, errno
}

// planned is what a call is to be made for, of n, or the errno it is to return.
func (cfg *Config) planned(call faults.Call, n int) (int, syscall.Errno) {
	if cfg.Faults == nil {
		return n, 0
	}
	return cfg.Faults.Next(call, n)
}
