//go:build unix

package reactor

import (
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/faults"
	"github.com/suiro-go/suiro/internal/iosync"
)

// PrepareTry makes a socket non-blocking. Only Windows needs it.
func PrepareTry(int) syscall.Errno { return 0 }

// TryRecvFrom receives one datagram into p and returns its length, which is at most len(p): the
// rest of a longer one is lost. from, unless it is nil, is set to the sender. The error is EAGAIN
// if there is no datagram.
func (c Calls) TryRecvFrom(fd int, p []byte, from *Sockaddr) (int, syscall.Errno) {
	for {
		n := 0
		_, errno := c.planned(faults.RecvFrom, 1)
		if errno == 0 {
			n, errno = sysRecvFrom(fd, p, from)
		}
		if errno != unix.EINTR {
			iosync.AfterReceive()
			return n, errno
		}
	}
}

// TrySendTo sends one datagram. A nil to is the peer of a connected socket. The error is EAGAIN if
// the socket has no room.
func (c Calls) TrySendTo(fd int, p []byte, to *Sockaddr) syscall.Errno {
	iosync.BeforeSend()
	for {
		_, errno := c.planned(faults.SendTo, 1)
		if errno == 0 {
			errno = sysSendTo(fd, p, to)
		}
		if errno != unix.EINTR {
			return errno
		}
	}
}
